"""Bugs planted in queries to sites, their noise and their accounts: a check catches each."""

from collections import Counter
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import pytest
from tasks_for_solvers import TASKS

from skdp.exceptions import BudgetExceededError
from skdp.privacy.accounting.ledger import Ledger, Spend
from skdp.privacy.accounting.site_accounts import SiteAccounts
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.mechanisms import site_noise as mechanisms
from skdp.privacy.mechanisms.site_noise import SiteNoise, Trust
from skdp.privacy.randomness import SecretNoise, SeededNoise
from skdp.privacy.sites import masks
from skdp.solvers import DDA
from skdp.solvers.dda import Run
from skdp.testing import RecordingOracle, Transcript

SITES = tuple("abcdef")
RING = np.sort(np.column_stack([np.arange(6), np.roll(np.arange(6), -1)]), axis=1)
PAIRS = np.column_stack(np.triu_indices(6, 1))
SENSITIVITY, DRAWS = 0.3, 20_000
TASK = TASKS["logistic"]


def made(source, colluders=0, edges=None, kind=SiteNoise):
    trust = Trust(source, colluders, 3.0)
    return kind.calibrated(SITES, edges, trust, SENSITIVITY, Spend(0.04), np.ones(6))


class Overheard(SecretNoise):
    """Keeps what was drawn, as those know it who drew it."""

    def __init__(self):
        self._inner = SeededNoise(np.random.default_rng(0))
        self.drawn = []

    def normal(self, shape):
        self.drawn.append(self._inner.normal(shape))
        return self.drawn[-1]

    def gumbel(self, shape):
        return self._inner.gumbel(shape)

    def chosen(self, size, rate):
        return self._inner.chosen(size, rate)


def price_for(mechanism, curious):
    """What the worst honest site really pays, against who knows all secrets of some sites.

    Measured on many rounds: what the curious know is subtracted from the messages, and the rest is
    the noise that hides a move of one message.
    """
    noise = Overheard()
    messages = mechanism.randomize(np.zeros((6, DRAWS)), noise)
    if mechanism.trust.summed:
        own = noise.drawn[0]
        hidden = messages - mechanism.own_noise_scales[0] * own[curious].sum(axis=0)
        return SENSITIVITY**2 / hidden.var()
    if mechanism.trust.source == "pairwise":
        scale = mechanism.trust.ratio * mechanism.own_noise_scales[0]
        for (i, j), mask in zip(mechanism.edges.tolist(), noise.drawn[1], strict=True):
            if i in curious or j in curious:
                messages[i] -= scale * mask
                messages[j] += scale * mask
    honest = np.setdiff1d(np.arange(6), curious)
    inverse = np.linalg.inv(np.cov(messages[honest]))
    return SENSITIVITY**2 * inverse.diagonal().max()


def check_price(mechanism):
    """No site pays less than what its messages tell the adversary that is named."""
    c = mechanism.trust.colluders
    charged = [(e.sensitivity / e.noise_scale) ** 2 for e in mechanism.event("q")]
    true = max(price_for(mechanism, list(range(k, k + c))) for k in range(6 - c))
    # The variance of 20,000 draws is known to 1 %.
    assert min(charged) >= 0.95 * true, f"charged {min(charged):.3g} for {true:.3g}"


def check_independent(mechanism):
    """Sites draw noise of their own."""
    messages = mechanism.randomize(np.zeros((6, DRAWS)), Overheard())
    off = np.corrcoef(messages)[~np.eye(6, dtype=bool)]
    assert np.abs(off).max() < 0.05, "noise is shared between sites"


def check_masks_cancel(mechanism):
    """The sum of the messages of those that are left has the noise of those that are left."""
    messages = mechanism.randomize(np.zeros((6, DRAWS)), Overheard())
    own = sqrt(6) * mechanism.own_noise_scales[0]
    assert messages.sum(axis=0).std() < 1.05 * own, "a mask is left in the sum"


def run(solver, epsilon=1.0):
    ledger, transcript = Ledger(epsilon, 1e-5), Transcript()
    oracle = RecordingOracle(
        TASK.rows(),
        ledger,
        Adjacency.REPLACE_ONE,
        SeededNoise(np.random.default_rng(0)),
        transcript,
    )
    solver.solve(TASK.problem, oracle.for_problem(TASK.problem), np.random.default_rng(0))
    return ledger, transcript


def check_all_charged(solver):
    """Each site is charged for each round in which its rows were asked, and within its budget."""
    ledger, transcript = run(solver)
    asked, paid, spent = Counter(), Counter(), Counter()
    for _, public, _, _ in transcript.entries:
        asked.update(public[0].tolist())
    for event in ledger.receipt():
        paid[event.part.label] += event.count
        spent[event.part.label] += event.count * (event.sensitivity / event.noise_scale) ** 2
    assert paid == asked, "a site was asked without being charged"
    assert max(spent.values()) <= ledger.limit
    assert ledger.total >= max(spent.values()) * (1 - 1e-12), "the fullest account does not count"


@pytest.mark.parametrize(
    ("source", "colluders", "edges"),
    [
        ("local", 0, None),
        ("pairwise", 0, RING),
        ("pairwise", 1, RING),
        ("pairwise", 1, PAIRS),
        ("pairwise", 2, PAIRS),
        ("secure_sum", 0, None),
        ("secure_sum", 2, None),
        ("final_model", 0, None),
    ],
)
def test_what_is_built_passes(source, colluders, edges):
    check_price(made(source, colluders, edges))
    if source == "local":
        check_independent(made(source))
    if source == "pairwise":
        check_masks_cancel(made(source, colluders, edges))


@pytest.mark.parametrize("solver", [DDA(), DDA(activation=0.3), DDA(noise="pairwise", dropout=0.2)])
def test_accounts_that_are_built_pass(solver):
    check_all_charged(solver)


def test_pairwise_noise_that_forgets_colluders_is_caught(monkeypatch):
    true = masks.exposure

    def forgetful(n_nodes, edges, ratio, colluders):
        return true(n_nodes, edges, ratio, 0)

    monkeypatch.setattr(mechanisms, "exposure", forgetful)
    for edges in (RING, PAIRS):
        with pytest.raises(AssertionError, match="charged"):
            check_price(made("pairwise", 2, edges))


def test_a_secure_sum_that_counts_on_the_noise_of_colluders_is_caught():
    @dataclass(frozen=True, eq=False)
    class Trusting(SiteNoise):
        @classmethod
        def calibrated(cls, labels, edges, trust, sensitivity, spend, shares):
            true = super().calibrated(labels, edges, trust, sensitivity, spend, shares)
            own = true.own_noise_scales * sqrt((6 - trust.colluders) / 6)
            return replace(true, own_noise_scales=own)

    with pytest.raises(AssertionError, match="charged"):
        check_price(made("secure_sum", 2, kind=Trusting))


def test_the_curators_noise_split_among_sites_that_publish_is_caught():
    """Right for a sum that alone is seen, and far too little where each message is."""

    @dataclass(frozen=True, eq=False)
    class Split(SiteNoise):
        def randomize(self, value, noise):
            return value + self.noise_scales[0] / sqrt(6) * noise.normal(value.shape)

    with pytest.raises(AssertionError, match="charged"):
        check_price(made("local", kind=Split))


def test_noise_shared_between_nodes_is_caught():
    @dataclass(frozen=True, eq=False)
    class Shared(SiteNoise):
        def randomize(self, value, noise):
            return value + self.noise_scales[:, None] * noise.normal(value.shape[1:])

    with pytest.raises(AssertionError, match="shared between sites"):
        check_independent(made("local", kind=Shared))


def test_a_mask_of_a_dropped_node_that_is_left_is_caught():
    @dataclass(frozen=True, eq=False)
    class Left(SiteNoise):
        def masks(self, shape, noise):
            more = np.vstack([self.edges, [[0, 6]]])
            return replace(self, edges=more, labels=(*SITES, "g")).drawn((7, *shape[1:]), noise)[:6]

        def drawn(self, shape, noise):
            return SiteNoise.masks(self, shape, noise)

    for edges in (RING, PAIRS):
        with pytest.raises(AssertionError, match="a mask is left"):
            check_masks_cancel(made("pairwise", 1, edges, kind=Left))


def test_a_charge_missing_for_one_site_is_caught(monkeypatch):
    true = SiteNoise.event
    monkeypatch.setattr(SiteNoise, "event", lambda self, query: true(self, query)[:-1])
    for solver in (DDA(), DDA(activation=0.3)):
        with pytest.raises(AssertionError, match="without being charged"):
            check_all_charged(solver)


def test_a_total_that_forgets_sites_is_caught(monkeypatch):
    nothing = property(lambda self: 0.0, lambda self, total: None)
    monkeypatch.setattr(SiteAccounts, "total", nothing, raising=False)
    with pytest.raises(AssertionError, match="does not count"):
        check_all_charged(DDA())


def test_amplification_claimed_for_visible_activation_is_stopped_by_the_ledger(monkeypatch):
    """A solver that plans as if idle rounds paid for active ones does not get far."""
    true = Run.__init__

    def optimistic(self, solver, problem, sites, schedule, growth, oracle):
        true(self, solver, problem, sites, schedule, growth, oracle)
        self._counts = np.maximum(1, np.round(self._counts * self._participation)).astype(int)

    monkeypatch.setattr(Run, "__init__", optimistic)
    with pytest.raises(BudgetExceededError, match="Nothing was read"):
        run(DDA(activation=0.3))


def test_amplification_written_on_the_receipt_is_caught():
    @dataclass(frozen=True, eq=False)
    class Amplified(SiteNoise):
        def event(self, query):
            return tuple(replace(e, sensitivity=0.3 * e.sensitivity) for e in super().event(query))

    with pytest.raises(AssertionError, match="charged"):
        check_price(made("local", kind=Amplified))
