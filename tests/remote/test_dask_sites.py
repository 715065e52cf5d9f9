"""Sites on the workers of a cluster: what leaves them, and what a fit makes of it."""

import os
import pickle
import signal
from collections import Counter
from itertools import chain
from math import sqrt

import numpy as np
import pytest
from by_night import by_night

distributed = pytest.importorskip("distributed", reason="needs dask: pip install 'skdp[dask]'")
from dask_examples import two_workers  # noqa: E402
from sites_on_workers import (  # noqa: E402
    BOUNDS,
    BUDGET,
    CLASSIFIER,
    SIZES,
    AsAtTheSites,
    D,
    exact,
    loaders,
    rounds_of,
    rows,
    seeded_here,
    together,
)

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, PrivacyBudget  # noqa: E402
from skdp.exceptions import BudgetExceededError  # noqa: E402
from skdp.federated import DaskSites  # noqa: E402
from skdp.privacy import oracle_factory  # noqa: E402
from skdp.privacy.rows import Facts  # noqa: E402
from skdp.privacy.sites import site as remote_site  # noqa: E402
from skdp.solvers import DDA, GD  # noqa: E402

pytestmark = [
    # Clusters that are shut down leave sockets to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

LEFT = []


@pytest.fixture(scope="module")
def client():
    """Two workers in this process, whose answers to calls of actors are written down."""
    execute = distributed.Worker.actor_execute

    async def watched(self, *args, **options):
        out = await execute(self, *args, **options)
        LEFT.append(out["result"].data)
        return out

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed.Worker, "actor_execute", watched)
        with two_workers() as client:
            yield client


@pytest.fixture
def left():
    LEFT.clear()
    return LEFT


def labels(label):
    X, _ = rows(label)
    return X, np.argmax(X + np.random.default_rng(3).gumbel(size=X.shape), axis=1)


def targets(label):
    X, _ = rows(label)
    return X, X @ [1.0, -1.0, 0.5]


REGRESSOR = {**BOUNDS, "target_bounds": (-4.0, 4.0)}


@pytest.mark.parametrize(
    ("kind", "options", "of"),
    [
        (DPLogisticRegression, CLASSIFIER, rows),
        *by_night(
            (DPLogisticRegression, CLASSIFIER | {"fit_intercept": False, "C": 0.01}, rows),
            (DPLogisticRegression, CLASSIFIER | {"class_weight": {0: 2.0, 1: 1.0}}, rows),
        ),
        (DPLogisticRegression, CLASSIFIER | {"solver": DDA(activation=0.4, rounds=30)}, rows),
        (DPLogisticRegression, CLASSIFIER | {"solver": DDA(topology="ring", rounds=9)}, rows),
        (DPLogisticRegression, BOUNDS | {"classes": [0, 1, 2]}, labels),
        (DPLinearRegression, REGRESSOR, targets),
        (DPLassoRegressor, REGRESSOR | {"solver": "dda"}, targets),
    ],
)
@pytest.mark.by_day(3)
def test_a_fit_equals_the_one_in_one_process(client, monkeypatch, kind, options, of):
    heard = []
    monkeypatch.setattr(remote_site, "SystemNoise", seeded_here)
    with DaskSites(client, loaders(of), **BUDGET, heard=heard.append) as sites:
        model = kind(**options, random_state=5).fit(sites)
    rounds = rounds_of(heard)
    monkeypatch.setattr(oracle_factory, "secret_noise", lambda seed: AsAtTheSites(rounds))
    X, y, groups = together(of)
    reference = kind(**options, random_state=5).fit(X, y, sites=groups)
    # Sites of their own round messages to the grid.
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, rtol=1e-6, atol=1e-6)
    assert model.privacy_ledger_ == reference.privacy_ledger_
    assert model.privacy_spent_ == reference.privacy_spent_
    assert model.n_features_in_ == D
    assert np.abs(model.predict(X) - reference.predict(X)).max() < 1e-6


def of_people(label):
    X, y = rows(label)
    return np.repeat(X, 3, axis=0), np.repeat(y, 3), np.repeat(np.arange(len(y)), 3)


def test_people_of_a_site_are_protected_with_all_of_their_rows(client, monkeypatch):
    monkeypatch.setattr(remote_site, "SystemNoise", seeded_here)
    with DaskSites(client, loaders(), **BUDGET) as sites:
        with pytest.raises(ValueError, match="privacy_unit=True with DaskSites"):
            DPLogisticRegression(**CLASSIFIER).fit(sites, privacy_unit=True)
        reference = DPLogisticRegression(**CLASSIFIER, random_state=5).fit(sites)
    with DaskSites(client, loaders(of_people), **BUDGET) as sites:
        with pytest.raises(ValueError, match="privacy_unit=True with DaskSites"):
            DPLogisticRegression(**CLASSIFIER).fit(sites)
        model = DPLogisticRegression(**CLASSIFIER, random_state=5).fit(sites, privacy_unit=True)
    # A person with three rows that are alike counts as one row does.
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-6, atol=1e-6)
    assert model.privacy_ledger_ == reference.privacy_ledger_
    assert (model.privacy_unit_, reference.privacy_unit_) == ("privacy_unit", "row")
    assert model.n_samples_seen_ == sum(SIZES.values())
    assert str(model.plan_).startswith("DPLogisticRegression: 1,000 privacy units")


def test_nothing_but_noisy_vectors_and_public_facts_leaves_a_site(client, left, monkeypatch):
    heard, gathered, moved = [], [], []
    gather, get_data = distributed.Client._gather, distributed.Worker.get_data

    async def watch(self, *args, **options):
        gathered.append(await gather(self, *args, **options))
        return gathered[-1]

    async def watch_data(self, *args, **options):
        moved.append(args)
        return await get_data(self, *args, **options)

    monkeypatch.setattr(distributed.Client, "_gather", watch)
    monkeypatch.setattr(distributed.Worker, "get_data", watch_data)
    with DaskSites(client, loaders(), **BUDGET, heard=heard.append) as sites:
        model = DPLogisticRegression(**CLASSIFIER, solver=DDA(rounds=120)).fit(sites)
    # Handles of actors, as large as their names, are all that is gathered.
    for handle in chain.from_iterable(gathered):
        assert type(handle).__name__ == "Actor"
        assert len(pickle.dumps(handle)) < 1000
    assert not moved
    assert Counter(map(type, left)) == {Facts: 3, np.ndarray: 360}
    vectors = [answer for answer in left if isinstance(answer, np.ndarray)]
    assert {v.shape for v in vectors} == {(D + 1,)}
    scale = {e.part.label: e.noise_scale for e in model.privacy_ledger_}
    sent = {v.tobytes() for v in vectors}
    noise = []
    for site, _, w, vector in heard:
        assert vector.tobytes() in sent
        # The noise of the receipt is that of messages, which are shares of the whole.
        own = scale[site] * sum(SIZES.values()) / len(SIZES) / SIZES[site]
        noise.append((vector - exact(site, w, intercept=0.6)) / own)
    z = np.array(noise)
    assert np.abs(z).min(axis=1).max() > 0
    assert not np.any(z == 0)
    # 1440 standard normals: six standard deviations.
    assert abs(np.std(z) - 1) < 6 / sqrt(2 * z.size)
    assert abs(np.mean(z)) < 6 / sqrt(z.size)


def test_sites_keep_receipts_of_their_own(client):
    with DaskSites(client, loaders(), epsilon=1.3, delta=1e-5) as sites:
        model = DPLogisticRegression(**CLASSIFIER).fit(sites)
        receipts = sites.receipts()
        for event in model.privacy_ledger_:
            (own,) = receipts[event.part.label].events
            assert own.count == event.count == 100
            ratio = own.sensitivity / own.noise_scale
            assert ratio == pytest.approx(event.sensitivity / event.noise_scale, rel=1e-12)
            assert receipts[event.part.label].spent.epsilon == pytest.approx(1.0, rel=1e-9)
        # They add up over fits; what is left is not enough for another one like it.
        spent = model.privacy_spent_
        with pytest.raises(BudgetExceededError, match="more than it has left"):
            model.fit(sites)
        assert model.privacy_spent_ == spent
        DPLogisticRegression(**CLASSIFIER | {"epsilon": 0.5}).fit(sites)
        assert 1.0 < sites.receipts()["west"].spent.epsilon < 1.3


def test_a_ceiling_is_charged_where_fit_is_called_and_before_sites_are_asked(client):
    with (
        DaskSites(client, loaders(), epsilon=5.0, delta=1e-5) as sites,
        PrivacyBudget(epsilon=1.0, delta=1e-5) as budget,
    ):
        DPLogisticRegression(**CLASSIFIER).fit(sites)
        (entry,) = budget.receipts
        assert (entry.who, entry.process) == ("DPLogisticRegression", os.getpid())
        asked = len(LEFT)
        with pytest.raises(BudgetExceededError, match="PrivacyBudget"):
            DPLogisticRegression(**CLASSIFIER).fit(sites)
        assert len(LEFT) == asked


@pytest.mark.parametrize(
    ("solver", "why"),
    [
        (DDA(noise="central"), "an aggregator with exact gradients"),
        (DDA(noise="secure_sum"), "a protocol"),
        (DDA(noise="pairwise"), "agree on seeds unseen by whoever relays"),
        (DDA(adversary="final_model"), "sites with messages"),
        *by_night((DDA(subsampling=0.1, rounds=10), "secret draw")),
        (GD(), "reads all rows at one place"),
    ],
)
def test_solvers_that_trust_somebody_are_refused_before_anything_is_spent(client, solver, why):
    if getattr(solver, "subsampling", None):
        pytest.importorskip("dp_accounting")
    with DaskSites(client, loaders(), **BUDGET) as sites:
        with pytest.raises(ValueError, match=why):
            DPLogisticRegression(**CLASSIFIER, solver=solver).fit(sites)
        assert all(r.events == () for r in sites.receipts().values())


def test_what_cannot_be_used_is_refused(client):
    with DaskSites(client, loaders(), **BUDGET) as sites:
        model = DPLogisticRegression(**CLASSIFIER)
        with pytest.raises(ValueError, match="y=None when X is DaskSites"):
            model.fit(sites, [0, 1])
        with pytest.raises(ValueError, match="sites=None when X is DaskSites"):
            model.fit(sites, sites=[0, 1])
        with pytest.raises(ValueError, match="partial_fit needs the rows themselves"):
            model.partial_fit(sites, None)
        with pytest.raises(ValueError, match=r"classes=\[...\]"):
            DPLogisticRegression(**BOUNDS).fit(sites)
        with pytest.raises(ValueError, match="bounds to be estimated"):
            DPLogisticRegression(**BUDGET, classes=[0, 1]).fit(sites)
        with pytest.raises(ValueError, match="accounts for adjacency='replace_one'"):
            DPLogisticRegression(**CLASSIFIER, adjacency="zero_out").fit(sites)
        with pytest.raises(TypeError, match="cannot be copied"):
            pickle.dumps(sites)
        assert not hasattr(model, "coef_")
    with pytest.raises(RuntimeError, match="have been closed"):
        model.fit(sites)
    with pytest.raises(ValueError, match="at least one site"):
        DaskSites(client, {}, **BUDGET)
    with pytest.raises(ValueError, match="a worker for each site"):
        DaskSites(client, loaders(), **BUDGET, workers={"north": "somewhere"})
    places = {"east": "nowhere", "north": 0, "west": "tcp://127.0.0.1:1"}
    with pytest.raises(ValueError, match=r"workers that the cluster has.*'east', 'west'"):
        DaskSites(client, loaders(), **BUDGET, workers=places)
    with pytest.raises(ValueError, match="epsilon"):
        DaskSites(client, loaders(), epsilon=-1.0, delta=1e-5)


def broken(label):
    X, y = rows(label)
    X[7, 1] = np.nan if label == "west" else 123456.789
    return X, y


def ragged(label):
    X, y = rows(label)
    return (X[:, :2] if label == "west" else X), y


def short(label):
    X, y = rows(label)
    return X, y[:-1]


def failing(label):
    raise ValueError(f"row 123456.789 of {label}")


def unknown(label):
    X, y = rows(label)
    return X, np.where(np.arange(y.size) == 5, 123456, y)


def nothing(label):
    return None


@pytest.mark.parametrize(
    ("of", "match"),
    [
        (broken, "'west' refuses: Input X contains NaN"),
        (ragged, "the same features"),
        (short, "one target a row, got 300 rows and targets of shape"),
        (failing, "could not load its rows: ValueError"),
        (unknown, "label"),
        (nothing, r"a pair \(X, y\)"),
    ],
)
def test_malformed_rows_are_refused_without_quoting_them(client, of, match):
    sites = DaskSites(client, loaders(of), **BUDGET)
    with sites, pytest.raises((ValueError, RuntimeError), match=match) as failed:
        DPLogisticRegression(**CLASSIFIER).fit(sites)
    seen = failed.value
    while seen is not None:
        assert "123456" not in str(seen)
        seen = seen.__cause__ or seen.__context__


def test_sites_stay_on_the_workers_that_are_named(client):
    first, second = sorted(client.nthreads())
    names = client.run(lambda dask_worker: dask_worker.name)
    places = {"east": names[second], "north": first, "west": second}
    with DaskSites(client, loaders(), **BUDGET, workers=places) as sites:
        sites.receipts()
        held = client.run(lambda dask_worker: len(dask_worker.state.actors))
        assert held == {first: 1, second: 2}
    # What closes them tells the workers in turn.
    client.submit(int, 0).result()
    client.submit(int, 0, pure=False, workers=[second]).result()
    assert sum(client.run(lambda dask_worker: len(dask_worker.state.actors)).values()) == 0


def fails_when_lost(sites, stop, rounds):
    """A fit during which a site is lost, once it has published its fifth message."""
    model = DPLogisticRegression(**CLASSIFIER, solver=DDA(rounds=rounds))
    model.coef_ = "of an earlier fit"
    with pytest.raises(RuntimeError, match=r"'(east|north|west)' does not answer") as failed:
        model.fit(sites)
    assert any("stopped after spending" in note for note in failed.value.__notes__)
    assert stop
    # All rounds that were asked for are charged, the one without answers included.
    assert {e.part.label for e in model.privacy_ledger_} == set(SIZES)
    assert {e.count for e in model.privacy_ledger_} == {6}
    assert 0 < model.privacy_spent_.epsilon < 1
    assert not hasattr(model, "coef_")


def test_a_fit_fails_when_a_worker_closes_and_says_what_it_has_spent():
    with two_workers() as client:
        stopped = []

        def heard(message):
            if message.round == 5 and not stopped:
                stopped.append(client.cluster.workers[1])
                client.cluster.sync(stopped[0].close)

        fails_when_lost(DaskSites(client, loaders(), **BUDGET, heard=heard), stopped, 40)


@pytest.mark.nightly
def test_a_fit_fails_when_a_worker_is_killed_and_says_what_it_has_spent():
    with two_workers(processes=True) as client:
        killed = []

        def heard(message):
            if message.round == 5 and not killed:
                killed.append(min(client.run(os.getpid).values()))
                os.kill(killed[0], signal.SIGKILL)

        fails_when_lost(DaskSites(client, loaders(), **BUDGET, heard=heard), killed, 40)
