"""Streams of persons, as users see them: ``partial_fit(X, y, privacy_unit=labels)``."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from published_attributes import assert_same, published
from sklearn.base import clone

from skdp import (
    DPLinearRegression,
    DPLogisticRegression,
    PrivacyBudget,
    load_checkpoint,
    save_checkpoint,
)
from skdp.privacy import PrivateOracle, gdp, opened_by
from skdp.privacy.streams import Call, StreamSession
from skdp.problem.constraints import L1Ball
from skdp.solvers import FTRL, GD, AdaSSP, Blocks, ObjectivePerturbation, OneStep, Screening
from skdp.testing import check_parts, record, replay

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

D, PERSONS, CALLS = 2, 30, 6
MARKER = 0.1234567890123
FEW = GD(steps=2)
SOLVERS = {
    "blocks": {"solver": Blocks(first=40, solver=FEW)},
    "calls": {"solver": FEW},
    "sums": {"solver": FTRL(batches=12), "horizon": 2 * CALLS * PERSONS},
    "sums without a horizon": {"solver": FTRL(batches=4)},
    "choices": {
        "solver": "frank_wolfe",
        "horizon": CALLS * PERSONS,
        "constraint": L1Ball(3.0),
        "C": 1e50,
        "fit_intercept": False,
    },
}
every_solver = pytest.mark.parametrize("options", SOLVERS.values(), ids=SOLVERS)


def classifier(**options):
    facts = {"data_norm": 2.0, "classes": [0, 1], "random_state": 0, "precondition": None}
    return DPLogisticRegression(**facts | options)


def calls(visits=(0, 1, 3), rows=3, label="the person", sign=1.0, seed=5):
    """Calls of 30 persons each, of whom some come again; the person is the fourth of a call."""
    rng, out = np.random.default_rng(seed), []
    for k in range(CALLS):
        X, y, labels = [], [], []
        for i in range(PERSONS):
            some = rng.integers(1, 4)
            own, targets = rng.uniform(-0.9, 0.9, (some, D)), rng.integers(0, 2, some)
            name = f"{i} of {k - (i < 10)}"
            if i == 3:
                name = "nobody else"
            if i == 3 and k in visits:
                own = np.tile([sign, sign * MARKER], (rows, 1))
                targets, name = np.zeros(rows, dtype=int), label
            X.append(own)
            y.append(targets)
            labels += [name] * len(own)
        out.append((np.concatenate(X), np.concatenate(y), labels))
    return out


def fed(model, given):
    for X, y, labels in given:
        model.partial_fit(X, y, privacy_unit=labels)
    return model


@every_solver
def test_who_and_how_many_rows_does_not_show_given_the_answers(options, monkeypatch):
    # Recorded and replayed answers take different noise, by which cut calls are put in order.
    monkeypatch.setattr(Call, "shuffled", lambda call, noise: call)
    model, other = classifier(max_visits=2, **options), classifier(max_visits=2, **options)
    one, two = calls(), calls(rows=100, label="somebody else", sign=-1.0)
    if "horizon" not in options and not isinstance(options["solver"], FTRL):
        replay(lambda: fed(other, two), record(lambda: fed(model, one)))
    else:
        given, release = [], StreamSession.release

        def noted(session):
            given.append(release(session))
            return given[-1]

        monkeypatch.setattr(StreamSession, "release", noted)
        fed(model, one)
        left = list(given)
        monkeypatch.setattr(StreamSession, "release", lambda s: (release(s), left.pop(0))[1])
        fed(other, two)
        assert not left
    assert_same(model, other)
    assert str(model.plan_) == str(other.plan_)
    assert model.n_samples_seen_ == CALLS * PERSONS
    assert model.privacy_unit_ == "privacy_unit"


class Parts:
    """Notes the rows and the ledger of each part of a stream."""

    def __init__(self):
        self.rows, self.ledgers = [], []

    def __call__(self, rows, ledger, adjacency, noise):
        self.rows.append(rows)
        self.ledgers.append(ledger)
        return PrivateOracle(rows, ledger, adjacency, noise)

    def shares(self):
        """Weight of the person in each part."""
        return [
            sum(
                block.bounded_weights[block.X[:, 1] == MARKER].sum()
                for block in rows.blocks()
                if (block.X[:, 1] == MARKER).any()
            )
            for rows in self.rows
        ]


@pytest.mark.parametrize("max_visits", [1, 2, 4])
@pytest.mark.parametrize("kind", ["blocks", "calls"])
def test_all_parts_in_which_a_person_counts_cost_the_budget_together(kind, max_visits):
    parts, model = Parts(), classifier(max_visits=max_visits, epsilon=1.3, **SOLVERS[kind])
    with opened_by(parts):
        fed(model, calls(visits=range(CALLS)))
    shares = parts.shares()
    came = [share > 0 for share in shares]
    assert sum(came) == min(max_visits, len(came))
    assert came == sorted(came, reverse=True)
    assert max(shares) == 1
    of_person = sum(sorted(ledger.total for ledger in parts.ledgers)[-max_visits:])
    whole = gdp.mu(1.3, model.delta_) ** 2
    assert 0.9 * min(1, len(came) / max_visits) <= of_person / whole <= 1
    assert 1.3 * (1 - 1e-6) <= model.privacy_spent_.epsilon <= 1.3
    check_parts(model)


@every_solver
@pytest.mark.parametrize("max_visits", [1, 3])
def test_the_receipt_is_the_budget_for_any_number_of_visits(options, max_visits):
    model = fed(classifier(max_visits=max_visits, epsilon=0.7, **options), calls())
    assert 0.7 * (1 - 1e-6) <= model.privacy_spent_.epsilon <= 0.7
    with PrivacyBudget(0.7, 1e-4, privacy_unit=True) as budget:
        fed(classifier(max_visits=max_visits, epsilon=0.7, **options), calls())
    assert budget.spent.epsilon <= 0.7


@pytest.mark.by_day(2)
@every_solver
def test_visits_beyond_the_declared_number_weigh_nothing_and_say_nothing(options):
    often, twice = calls(visits=range(CALLS)), calls(visits=range(CALLS), sign=-0.3)
    same = [*often[:3], *twice[3:]]
    found = []
    for given in (often, same):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", category=UserWarning)
            found.append(fed(classifier(max_visits=2, **options), given))
    assert_same(*found)
    # Few rows seldom change a choice among four vertices.
    if options["solver"] != "frank_wolfe":
        more = [fed(classifier(max_visits=4, **options), given) for given in (often, same)]
        assert not np.array_equal(more[0].coef_, more[1].coef_)


@pytest.mark.by_day(2)
@every_solver
def test_copies_of_a_row_count_as_one(options):
    one = fed(classifier(max_visits=2, **options), calls(rows=1))
    many = fed(classifier(max_visits=2, **options), calls(rows=8))
    assert_same(one, many, rtol=1e-3)


@every_solver
def test_where_in_a_call_rows_stand_does_not_matter_if_persons_keep_their_order(options):
    given, mixed = calls(), []
    rng = np.random.default_rng(0)
    for X, y, labels in given:
        labels = np.array(labels)
        first = np.sort(np.unique(labels, return_index=True)[1])
        rest = rng.permutation(np.setdiff1d(np.arange(len(y)), first))
        order = np.concatenate([first, rest])
        mixed.append((X[order], y[order], labels[order]))
    one, other = classifier(**options), classifier(**options)
    assert_same(fed(one, given), fed(other, mixed), rtol=1e-3)


@pytest.mark.parametrize(
    "solver",
    [Blocks(first=40, solver=GD(steps=2, clip=5.0)), FTRL(batches=12)],
    ids=["blocks", "sums"],
)
def test_sparse_rows_are_those_of_the_same_persons(solver):
    # Means of sparse rows are not clipped, so nothing may be clipped.
    dense = fed(classifier(solver=solver), calls())
    sparse = classifier(solver=solver)
    for X, y, labels in calls():
        sparse.partial_fit(sp.csr_array(X), y, privacy_unit=labels)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-6)


@every_solver
def test_pickles_and_public_attributes_hold_neither_labels_nor_counts(options):
    model = fed(classifier(max_visits=2, **options), calls())
    for seen in (
        pickle.dumps(model),
        pickle.dumps(copy.copy(model)),
        repr(published(model)).encode(),
    ):
        assert b"the person" not in seen
        assert b"5 of 2" not in seen
        assert b"Visits" not in seen
    assert "the person" not in repr(model) + str(model.plan_) + repr(vars(model._session))
    with pytest.raises(ValueError, match="needs the secret state of its stream"):
        fed(pickle.loads(pickle.dumps(model)), calls()[2:3])


@every_solver
def test_a_checkpoint_goes_on_counting(options, tmp_path):
    often = calls(visits=range(CALLS))
    whole = fed(classifier(max_visits=2, **options), often)
    model = fed(classifier(max_visits=2, **options), often[:3])
    save_checkpoint(model, tmp_path / "stream")
    taken = load_checkpoint(tmp_path / "stream")
    assert_same(fed(taken, often[3:]), whole)


def test_horizons_and_cuts_count_persons():
    model = classifier(solver=FTRL(batches=3), horizon=2 * PERSONS)
    fed(model, calls(rows=50)[:2])
    assert model.n_iter_ == 3
    with pytest.raises(ValueError, match="no more visits of persons than its horizon of 60"):
        fed(model, calls()[2:3])


@every_solver
def test_persons_are_named_in_all_calls_or_in_none(options):
    (X, y, labels), *_ = calls()
    model = classifier(**options).partial_fit(X, y, privacy_unit=labels)
    with pytest.raises(ValueError, match="needs privacy_unit, the label of the person of each"):
        model.partial_fit(X, y)
    model = classifier(**options).partial_fit(X, y)
    if "calls" not in options:
        with pytest.raises(ValueError, match="needs privacy_unit=None in a stream that began"):
            model.partial_fit(X, y, privacy_unit=labels)
    with pytest.raises(ValueError, match="with max_visits > 1, got None and max_visits=3"):
        classifier(max_visits=3, **options).partial_fit(X, y)


def test_a_stream_of_persons_begins_with_a_new_model():
    (X, y, labels), *_ = calls()
    for given in ({}, {"privacy_unit": labels}):
        model = classifier(solver=FEW).fit(X, y, **given)
        before = published(model)
        with pytest.raises(ValueError, match="nobody has counted how often persons were among"):
            model.partial_fit(X, y, privacy_unit=labels)
        assert published(model).keys() == before.keys()


def test_max_visits_is_part_of_the_promise():
    given = calls()
    model = fed(classifier(max_visits=2, **SOLVERS["calls"]), given[:1])
    with pytest.raises(ValueError, match="got other values of max_visits"):
        fed(model.set_params(max_visits=3), given[1:])
    assert clone(model).get_params()["max_visits"] == 3
    with pytest.raises(ValueError, match="'max_visits' parameter"):
        fed(classifier(max_visits=0), given)


@pytest.mark.parametrize(
    "labels", [["a"] * 9 + [None], np.full(10, np.nan), ["a"] * 9, [["a"]] * 10, "abc"]
)
def test_labels_that_say_no_person_are_refused_without_a_word_about_them(labels):
    X, y = np.zeros((10, D)), np.arange(10) % 2
    with pytest.raises(ValueError, match="privacy_unit needs") as refused:
        classifier(**SOLVERS["calls"]).partial_fit(X, y, privacy_unit=labels)
    assert "10" not in str(refused.value)


def test_regressions_of_several_kinds_of_noise_take_several_visits():
    rng = np.random.default_rng(0)
    X, labels = rng.uniform(-0.5, 0.5, (120, D)), np.arange(120) % 50
    facts = {"data_norm": 1.0, "target_bounds": (-1, 1), "max_visits": 3, "epsilon": 2.0}
    # Screening may choose, and choices are counted by a looser bound.
    for solver, least in ((AdaSSP(), 1.9), (Screening(), 1.7)):
        model = DPLinearRegression(solver=solver, **facts)
        for _ in range(2):
            model.partial_fit(X, X[:, 0], privacy_unit=labels)
        assert least <= model.privacy_spent_.epsilon <= 2.0


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_parts_with_gaussian_noise_and_parts_with_choices_cost_the_budget_together(delta):
    """What 'auto' takes for few persons chooses vertices, and what it takes for many does not."""
    rng = np.random.default_rng(0)
    facts = {"data_norm": 1.0, "target_bounds": (-1, 1), "constraint": L1Ball(1.0)}
    facts |= {"max_visits": 2, "epsilon": 1.0, "delta": delta}
    model = DPLinearRegression(**facts, solver=Blocks(first=100, ratio=8))
    with PrivacyBudget(1.0, delta, privacy_unit=True):
        kinds = []
        for n in (100, 700):
            X = rng.uniform(-0.1, 0.1, (n, 150))
            model.partial_fit(X, X[:, 0], privacy_unit=np.arange(n))
            kinds.append(type(model.plan_.solver).__name__)
            assert model.privacy_spent_.epsilon <= 1.005
    assert kinds == ["FrankWolfe", "GD"]


def test_standard_errors_of_persons_add_up_over_visits():
    model = fed(classifier(solver=OneStep(), epsilon=100.0, max_visits=2), calls())
    check_parts(model)
    assert model.inference_.counted == "privacy units"


@pytest.mark.parametrize("delta", [None, 0])
def test_minimisers_of_persons_do_not_add_up_over_visits(delta):
    solver = ObjectivePerturbation()
    with pytest.raises(
        ValueError,
        match="needs max_visits=1 with.* leave delta out" if delta == 0 else "max_visits=1 with",
    ):
        fed(classifier(solver=solver, delta=delta, max_visits=3), calls())
    model = fed(classifier(solver=solver, delta=delta, max_visits=1), calls())
    assert model.privacy_spent_.epsilon <= model.epsilon


@every_solver
def test_labels_of_another_type_are_refused_before_anything_is_spent(options, tmp_path):
    """Leading zeros that one call has kept and the other has not would make two of everybody."""
    X, y = np.random.default_rng(0).uniform(-0.9, 0.9, (60, D)), np.arange(60) % 2
    as_text = np.char.zfill(np.arange(60).astype(str), 4)
    with PrivacyBudget(epsilon=2.0, delta=1e-5, privacy_unit=True) as budget:
        model = classifier(**options).partial_fit(X, y, privacy_unit=as_text)
        before, spent = published(model), budget.spent
        for _ in range(2):
            for labels in (np.arange(60), list(range(60)), np.arange(60.0)):
                with pytest.raises(ValueError, match="labels of one type in all rows") as refused:
                    model.partial_fit(X, y, privacy_unit=labels)
                assert "59" not in str(refused.value)
                assert refused.value.__cause__ is refused.value.__context__ is None
            assert budget.spent == spent
            for name, value in before.items():
                np.testing.assert_array_equal(getattr(model, name), value, err_msg=name)
            # The stream remembers them where it goes on.
            save_checkpoint(model, tmp_path / "stream")
            model = load_checkpoint(tmp_path / "stream")
        model.partial_fit(X, y, privacy_unit=as_text.tolist())
    assert model.n_samples_seen_ == 120


def test_all_visits_count_as_spent_while_a_part_is_open():
    """So that a fit that never ends does not state the price of one visit."""
    seen = []

    class Noting(GD):
        def solve(self, problem, oracle, rng):
            seen.append(model.privacy_spent_.epsilon)
            return super().solve(problem, oracle, rng)

    model = classifier(max_visits=3, solver=Noting(steps=2))
    X = np.random.default_rng(0).uniform(-1, 1, (PERSONS, D))
    for _ in range(2):
        model.partial_fit(X, X[:, 0] > 0, privacy_unit=np.arange(PERSONS))
    assert len(seen) == 2
    assert min(seen) >= 1.0
