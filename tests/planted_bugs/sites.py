"""Bugs in sites: their noise, accounts and messages, their rows on workers, and dask collections."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count, pairwise
from math import sqrt
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from data import test_several_blocks
from known_noise import Silence, seeded
from planted_bugs.bug import Bug, Value, gives, sets
from privacy.mechanisms import test_sites as noise_of_sites
from remote import test_site
from tasks_for_solvers import TASKS, solve

from skdp import DPLinearRegression
from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency
from skdp.privacy.accounting import Ledger, Spend
from skdp.privacy.queries import GradientQuery, SiteRequest
from skdp.privacy.rows import ChunkedRows, Chunks, DenseRows, Part, Refusal
from skdp.problem import Problem, RowBounds, Sites, TargetBounds
from skdp.problem.losses import Logistic
from skdp.solvers import DDA


def each_site_is_charged_for_each_round(**options):
    """Within its budget, in every round in which its rows were asked."""
    task = TASKS["logistic"]
    try:
        _, entries, ledger = solve(DDA(**options), task.problem, task.X, task.y)
    except BudgetExceededError as refusal:
        raise AssertionError("the plan of a run does not fit its budget") from refusal
    asked, paid, spent = Counter(), Counter(), Counter()
    for _, public, _, _ in entries:
        asked.update(public[0].tolist())
    for event in ledger.receipt():
        paid[event.part.label] += event.count
        spent[event.part.label] += event.count * (event.sensitivity / event.noise_scale) ** 2
    assert paid == asked, "a site was asked without being charged"
    assert max(spent.values()) <= ledger.limit
    assert ledger.total >= max(spent.values()) * (1 - 1e-12), "the fullest account does not count"


# Sites on workers.

ROUNDS, AMOUNT = 150, 1e-5


class Unlimited(Ledger):
    def __init__(self, epsilon, delta):
        super().__init__(1e30, delta)


def asker(direct, ledger, amount=AMOUNT):
    """An oracle and a query to all sites."""
    from skdp.privacy.sites import RemoteOracle

    found = direct.opened()
    problem = Problem(Logistic(), found.n_samples, 3, RowBounds(2.0, 2.0), sites=found.sites)
    oracle = RemoteOracle(found, ledger, Adjacency.REPLACE_ONE).for_problem(problem)
    weights = np.stack([[0.5, -0.2, 0.1, 0.3]] * 3)
    public = {
        "spend": Spend(amount),
        "shares": np.ones(3),
        "clip_norm": None,
        "trust": ("local", 0, 3.0),
    }
    return lambda: oracle.site_gradients(found.sites, np.arange(3), weights, **public)


def what_leaves_a_site_is_noisy():
    """Vectors that leave a site have noise at least as large as it has to be."""
    from sites_on_workers import SIZES, D, Direct, exact

    from skdp.privacy.sites import site

    sources = count()
    with pytest.MonkeyPatch.context() as patch:
        if site.SystemNoise is not Silence:
            patch.setattr(site, "SystemNoise", lambda: seeded(next(sources)))
        direct = Direct()
        ask = asker(direct, Ledger(1.0, 1e-5))
        published = np.array([ask() for _ in range(ROUNDS)])
    left = np.array(direct.left[3:]).reshape(ROUNDS, 3, D + 1)
    for i, label in enumerate(SIZES):
        # Of the mean gradient of the site, whose rows have norms up to sqrt(8).
        least = 2 * sqrt(8) / SIZES[label] / sqrt(AMOUNT)
        noise = (left[:, i] - exact(label, np.array([0.5, -0.2, 0.1, 0.3]))) / least
        assert np.std(noise) > 1 - 6 / sqrt(2 * noise.size), "too little noise leaves a site"
        # And what is made of it is the site's share of the mean of all rows.
        share = 3 * SIZES[label] / sum(SIZES.values())
        np.testing.assert_allclose(published[:, i], share * left[:, i], rtol=1e-12)


def lost_rounds_are_charged():
    from sites_on_workers import Direct

    direct, ledger = Direct(), Ledger(1.0, 1e-5)
    ask = asker(direct, ledger)
    ask()

    def lost(*args):
        raise RuntimeError("lost")

    direct.asked = lost
    with pytest.raises(RuntimeError, match="lost"):
        ask()
    assert [event.count for event in ledger.receipt()] == [2, 2, 2]


# Rows in several pieces.


def blocks_are_summed_over_the_rows_that_are_marked():
    """Of a table that is several blocks, and of chunks."""
    n = 30_000
    X, y = np.full((n, 1), 0.5), np.arange(float(n))
    pieces = [(X[i:j], y[i:j]) for i, j in pairwise([0, 3, 7, n])]
    marked = np.arange(n) % 5 == 1

    def seen(block):
        return np.isin(np.arange(n), block.y).astype(float)

    for rows in (DenseRows(X, y), ChunkedRows(Chunks(pieces), lambda targets: targets)):
        found = rows.bounded(RowBounds(1.0)).sum(seen, marked)
        np.testing.assert_array_equal(found, marked)


def sites_add_up_with_their_weights():
    """Messages of two sites in any order are the gradient of all rows."""

    rng = np.random.default_rng(0)
    X, weights, w = rng.normal(size=(60, 3)) / 2, rng.uniform(size=60), np.array([2.0, -1.0, 0.5])
    rows = DenseRows(X, (X[:, 0] > 0).astype(float), weights)
    sites = Sites(("a", "b"), np.array([20, 40]), rng.permutation(60))
    problem = Problem(Logistic(), 60, 3, RowBounds(2.0))
    request = SiteRequest(problem, sites, np.arange(2), np.stack([w, w]), 0.3)
    exact = GradientQuery(problem, w, 0.3).evaluate(rows)
    np.testing.assert_allclose(request.messages(rows).mean(axis=0), exact, atol=1e-12)


# Dask collections.


@contextmanager
def one_thread():
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


def sums_are_those_in_memory(opened, X, y, marked, changed):
    """Or rows that have changed are noticed, which is said."""
    bounds = RowBounds(2.0, 1.0, TargetBounds(-1.0, 1.0))
    memory = DenseRows(X, y).bounded(bounds)
    try:
        bounded = opened().bounded(bounds)
        for these in (None, marked, None):
            found, exact = (
                rows.sum(lambda block: block.combine(block.y.copy()), these)
                for rows in (bounded, memory)
            )
            np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-10)
    except ValueError as refusal:
        if changed is None or "the same rows at each pass" not in str(refusal):
            raise


def collections_sum_as_rows_in_memory_do(changed=None):
    """Sums over all rows and over some; from the fourth pass on, rows may be others."""
    from dask_examples import cut, data

    from skdp.privacy.rows import DaskRows

    X, y = data()
    chunks, targets = cut(X, y)
    reads = []

    def changing(block):
        reads.append(None)
        return block if len(reads) <= 12 else changed * block

    if changed is not None:
        chunks = chunks.map_blocks(changing, dtype=float, meta=np.empty((0, 0)))
    marked = np.random.default_rng(1).random(len(X)) < 0.3
    with one_thread():
        sums_are_those_in_memory(
            lambda: DaskRows(chunks, targets, np.asarray), X, y, marked, changed
        )


def chunks_sum_as_rows_in_memory_do(changed=None, room=2500):
    """Sums over chunks, read into memory that is used again; the third pass may be over others.

    There is room for what is small, and for features only if ``room`` is None.
    """
    rng = np.random.default_rng(0)
    X, passes, place = rng.normal(size=(90, 3)), [], np.empty((30, 3))
    y = X[:, 0] + rng.normal(size=90)

    def read():
        passes.append(None)
        for start in range(0, 90, 30):
            other = changed if changed is not None and len(passes) > 2 else 1.0
            place[:] = other * X[start : start + 30]
            yield place, y[start : start + 30]

    marked = rng.random(90) < 0.3
    sums_are_those_in_memory(
        lambda: ChunkedRows(Chunks(read, memory=room), np.asarray), X, y, marked, changed
    )


def row_groups_cut_no_chunks():
    """A writer may cut them by bytes, and then one other row moves them all."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"x": np.arange(100.0), "y": np.arange(100.0)})
    found = []
    with TemporaryDirectory() as folder:
        for rows in (7, 100):
            parquet.write_table(table, f"{folder}/{rows}.parquet", row_group_size=rows)
            chunks = Chunks.from_parquet(f"{folder}/{rows}.parquet", target="y")
            found.append([len(y) for _, y in chunks])
    assert found[0] == found[1], "cut by a writer"


def seeds_stay_where_they_are(seed=3141592653):
    from dask_examples import cut, data

    from skdp.privacy.rows import dask_rows

    sent, packed = [], dask_rows.packed
    with pytest.MonkeyPatch.context() as patch, one_thread():
        patch.setattr(dask_rows, "packed", lambda content: sent.append(packed(content)) or sent[-1])
        model = DPLinearRegression(
            random_state=seed, data_norm=3.0, target_bounds=(-5, 5), solver="gd"
        )
        model.fit(*cut(*data()))
    assert sent
    bodies = [body for pieces in sent for _, body in pieces]
    assert not any(seed.to_bytes(4, "little") in body for body in bodies), "a seed was sent"


# Bugs.


def with_own(factor):
    def bug(honest, cls, labels, edges, trust, *rest):
        true = honest(cls, labels, edges, trust, *rest)
        return replace(true, own_noise_scales=true.own_noise_scales * factor(trust))

    return bug


def left_mask(honest, self, shape, noise):
    n = len(self.labels)
    more = np.vstack([self.edges, [[0, n]]])
    grown = replace(self, edges=more, labels=(*self.labels, "one more"))
    return honest(grown, (n + 1, *shape[1:]), noise)[:n]


def noise_on_arrival(honest, self, request, amounts):
    exact = honest(self, request, amounts)
    least = request.sensitivity(Adjacency.REPLACE_ONE) / sqrt(AMOUNT)
    return exact + least * np.random.default_rng().standard_normal(exact.shape)


def redrawn(honest, self, request):
    self._latest = None
    return honest(self, request)


def charged_late(honest, self, query, spend):
    mechanism = query.mechanism(self._adjacency, spend)
    answer = self._rows.messages(query.request, spend.amount * query.shares)
    self._ledger.charge(mechanism.event(query.name))
    return answer


def of_the_first_block(honest, blocks, marked):
    return ((block, np.flatnonzero(marked[: block.y.size])) for block in blocks)


def of_other_rows(honest, self, *args, marked=None, **options):
    return honest(self, *args, marked=None if marked is None else np.roll(marked, 1), **options)


def loose(honest, self, raw, kernel, name, bounds, **options):
    return honest(
        self, raw, kernel, name, RowBounds(1e9, bounds.intercept_value, bounds.target), **options
    )


def known_by_their_memory(honest, self, chunk, of_features):
    return Part(chunk.y.copy(), chunk.weights, lambda: chunk.came, None)


def without_the_first(honest, sums, count):
    return honest({at: None if at == (0, 0) else part for at, part in sums.items()}, count)


def cut_as_they_were_written(honest, self):
    for place in range(len(self._layouts)):
        with self._opened(place) as file:
            for group in range(file.num_row_groups):
                (batch,) = file.read_row_group(group, columns=self._read).to_batches()
                yield self._chunk([batch], batch.num_rows)


def with_the_estimator(honest, self, y):
    """Encoders once were methods of the estimator, which took it along."""
    return partial(_encoded, self.get_params(), honest(self, y))


def _encoded(parameters, encode, y):
    return encode(y)


ROUND = each_site_is_charged_for_each_round
DRAWN = test_several_blocks.test_a_message_is_that_of_the_rows_of_the_site_that_are_drawn
RING, PAIRS = noise_of_sites.RING, noise_of_sites.PAIRS
COVARIANCE = noise_of_sites.test_pairwise_messages_have_the_covariance_of_own_noise_and_masks
OWN = noise_of_sites.test_own_noise_of_pairs_is_what_the_exposure_allows
SUMS = noise_of_sites.test_sums_have_the_noise_that_honest_sites_need
BUGS = (
    # Noise.
    Bug("a tenth of the noise of sites (pairwise)", {"SiteNoise.randomize": lambda honest, self, v, noise: honest(self, v, noise) / 10}, partial(COVARIANCE, RING)),
    Bug("a tenth of the noise of sites (secure_sum)", {"SiteNoise.randomize": lambda honest, self, v, noise: honest(self, v, noise) / 10}, partial(SUMS, "secure_sum", 0, 1.0)),
    Bug("masks that count colluders as honest (pairs)", {"site_noise.exposure": lambda honest, n, pairs, ratio, colluders: honest(n, pairs, ratio, 0)}, partial(OWN, colluders=2, edges=PAIRS)),
    Bug("masks that count a colluder as honest (ring)", {"site_noise.exposure": lambda honest, n, pairs, ratio, colluders: honest(n, pairs, ratio, 0)}, partial(OWN, colluders=1, edges=RING)),
    Bug("masks of all pairs that count colluders as honest", {"site_noise.exposure_of_all_pairs": lambda honest, n, ratio: honest(6, ratio)}, partial(OWN, colluders=2, edges=None)),
    Bug("noise of colluders counted on", {"SiteNoise.calibrated": with_own(lambda trust: sqrt((6 - trust.colluders) / 6))}, partial(SUMS, "secure_sum", 2, sqrt(5 / 3))),
    Bug("the noise of one curator split among sites that publish", {"SiteNoise.randomize": lambda _, self, v, noise: v + self.noise_scales[0] / sqrt(6) * noise.normal(v.shape)}, noise_of_sites.test_local_noise_is_calibrated_for_each_site),
    Bug("half the noise in the final model", {"SiteNoise.calibrated": with_own(lambda trust: 0.5)}, partial(SUMS, "final_model", 0, 1.0)),
    Bug("noise shared between sites", {"SiteNoise.randomize": lambda _, self, v, noise: v + self.noise_scales[:, None] * noise.normal(v.shape[1:])}, partial(COVARIANCE, None)),
    *(Bug(f"a mask of a dropped site that is left ({name})", {"SiteNoise.masks": left_mask}, partial(COVARIANCE, edges)) for name, edges in (("ring", RING), ("pairs", PAIRS))),
    Bug("amplification written on the receipt", {"SiteNoise.event": lambda honest, self, query: tuple(replace(e, sensitivity=0.3 * e.sensitivity) for e in honest(self, query))}, partial(noise_of_sites.test_each_site_has_an_event_that_says_whom_it_trusts, "local")),
    # Accounts.
    Bug("a charge missing for one site", {"SiteNoise.event": lambda honest, self, query: honest(self, query)[:-1]}, ROUND, "without being charged"),
    Bug("a charge missing for one active site", {"SiteNoise.event": lambda honest, self, query: honest(self, query)[:-1]}, partial(ROUND, activation=0.3), "without being charged", nightly=True),
    Bug("a charge missing for one masked site", {"SiteNoise.event": lambda honest, self, query: honest(self, query)[:-1]}, partial(ROUND, noise="pairwise", dropout=0.2), "without being charged", nightly=True),
    Bug("a total that forgets sites", {"Ledger.total": lambda honest, self: honest(self) - self._site_total}, ROUND, "does not count"),
    Bug("amplification claimed for activation that everyone sees", {"Run.__init__": sets("_counts", lambda self, *args: np.maximum(1, np.round(self._counts * self._participation)).astype(int))}, partial(ROUND, activation=0.3), "does not fit"),
    # Workers.
    Bug("noise that is added where messages arrive", {"RemoteRows.messages": noise_on_arrival, "site.SystemNoise": Value(Silence)}, what_leaves_a_site_is_noisy, needs="cloudpickle"),
    Bug("noise for all rows in place of those of the site", {"Site._opened": sets("_n_samples", lambda self, *args: 3 * self._n_samples)}, what_leaves_a_site_is_noisy, "too little noise", needs="cloudpickle"),
    Bug("messages that are not brought to shares", {"RemoteRows.messages": lambda honest, self, *args: honest(self, *args) / (3 * self.sites.sizes[:, None] / self.n_samples)}, what_leaves_a_site_is_noisy, needs="cloudpickle"),
    Bug("a retry that redraws noise", {"Site._answered": redrawn}, test_site.test_a_repeated_round_has_the_same_message_and_costs_nothing, needs="cloudpickle"),
    Bug("a retry that is told by its number alone", {"Request.digest": lambda _, self: str(self.number).encode()}, partial(test_site.test_other_queries_in_a_round_and_earlier_rounds_are_refused, test_site.request(2, w=test_site.W + 1)), needs="cloudpickle"),
    Bug("a site beyond its budget", {"site.Ledger": Value(Unlimited), "Site.opened": lambda _, self, *args: self._opened(args[0], args[1], 1, 1e-5, args[4])}, test_site.test_a_site_stops_at_its_budget_whoever_asks, needs="cloudpickle"),
    Bug("a charge after the answers of sites", {"RemoteOracle._release": charged_late}, lost_rounds_are_charged, needs="cloudpickle"),
    Bug("errors of sites that quote rows", {"site._failure": lambda _, error, what: Refusal(RuntimeError, str(error))}, test_site.test_failures_in_mid_fit_quote_nothing, needs="cloudpickle"),
    # Rows in several pieces.
    Bug("blocks that share the public randomness of the first", {"rows_base.with_marks": of_the_first_block}, blocks_are_summed_over_the_rows_that_are_marked),
    Bug("sites in chunks that share the public randomness of the first", {"site_rows.SiteChunks.__init__": sets("_positions", lambda self, *args: np.resize(self._positions[:4], self._positions.size))}, partial(DRAWN, "chunks", "in order")),
    Bug("small sites that share the public randomness of the first", {"site_rows._Bunch.__init__": sets("_positions", lambda self, *args: self._positions % 5)}, partial(DRAWN, "dense", "many small")),
    Bug("sites that share the public randomness of the first", {"site_rows._Single.__init__": lambda honest, self, first, start, block: honest(self, first, 0, block)}, partial(DRAWN, "dense", "in order")),
    Bug("sites that leave weights behind", {"site_rows.RawBlock": lambda honest, X, y, weights=None: honest(X, y)}, sites_add_up_with_their_weights),
    # Dask.
    Bug("marks of other rows", {"Part.sum": of_other_rows}, collections_sum_as_rows_in_memory_do, needs="dask"),
    Bug("a partition that is left out", {"partition.climbed": without_the_first}, collections_sum_as_rows_in_memory_do, needs="dask"),
    Bug("rows of partitions that are not bounded", {"Part.sum": loose}, collections_sum_as_rows_in_memory_do, needs="dask"),
    Bug("a pass over other rows", {"table_parts.checksum": gives(1), "partition.checksum": gives(1)}, partial(collections_sum_as_rows_in_memory_do, 3.0), needs="dask"),
    Bug("factors of earlier rows used for rows of the same norm", dict.fromkeys(("table_parts.checksum", "partition.checksum"), lambda honest, rows: honest(abs(rows))), partial(collections_sum_as_rows_in_memory_do, -1.0), needs="dask"),
    Bug("marks of other rows of chunks", {"Part.sum": of_other_rows}, chunks_sum_as_rows_in_memory_do),
    Bug("rows of chunks that are not bounded", {"Part.sum": loose}, chunks_sum_as_rows_in_memory_do),
    Bug("a pass over other chunks", {"table_parts.checksum": gives(1), "chunked.checksum": gives(1)}, partial(chunks_sum_as_rows_in_memory_do, 3.0)),
    Bug("the memory of a reader taken for its rows", {"ChunkedRows._part": known_by_their_memory}, partial(chunks_sum_as_rows_in_memory_do, room=None)),
    Bug("chunks that are cut where a writer cut row groups", {"ParquetSource.__iter__": cut_as_they_were_written}, row_groups_cut_no_chunks, "cut by a writer", needs="pyarrow"),
    Bug("seeds that are sent to workers", {"PrivateLinearRegressor._prepare_targets": with_the_estimator}, seeds_stay_where_they_are, "a seed was sent", nightly=True, needs="dask"),
)  # fmt: skip
