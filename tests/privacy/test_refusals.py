"""What accounts, mechanisms and plans refuse: numbers outside their range, in a sentence."""

from math import inf, nan

import pytest
from factors_of_prefix_sums import KINDS

from skdp.privacy import SystemNoise
from skdp.privacy.accounting import (
    Budget,
    GaussianDP,
    Ledger,
    Spend,
    SubsampledGaussianDP,
    ZeroConcentratedDP,
    gdp,
    zcdp,
)
from skdp.privacy.bandit_sessions import Plan
from skdp.privacy.mechanisms import (
    GaussianMechanism,
    GumbelMechanism,
    ObjectivePerturbation,
    PurePerturbation,
)
from skdp.privacy.streams import StreamPlan
from skdp.reporting import NumberOfTrials
from skdp.solvers import schedules

ONE, EACH = Spend(1.0), (GaussianDP(), ZeroConcentratedDP())
NEGATIVE, NO_DELTA = (-1.0, -1e-300, -inf, nan), (0.0, 1.0, -1e-5, 2.0, 1e-301, nan, inf)
NO_SENSITIVITY, NO_VECTOR = (0.0, -1.0, inf, nan), ([], [[1.0, 2.0]], 3.0)
NOT_POSITIVE = [1.0, 0.0], [1.0, -2.0], [nan], [1.0, inf]
BEYOND = (1e300, 1e-5), (1.7e308, 1e-300), (1e308, 0.5), (1e-320, 1e-300)
NEEDS_DELTA = "needs delta strictly between 0 and 1"
SENSITIVITY = "needs a positive finite sensitivity"
VECTOR, POSITIVE = "non-empty vector; got shape", "positive and finite; got"
# What is called with each of some values, and the words of the refusal.
REFUSED = [
    ("gdp.epsilon, mu", lambda bad: gdp.epsilon(bad, 1e-5), NEGATIVE, r"^gdp\.epsilon needs mu in \[0, inf\]; got"),
    ("gdp.mu, epsilon", lambda bad: gdp.mu(bad, 1e-5), NEGATIVE, r"^gdp\.mu needs epsilon in \[0, inf\]; got"),
    *((f"gdp.{f.__name__}, mu", lambda bad, f=f: f(bad, 1.0), NEGATIVE, "needs mu") for f in (gdp.delta, gdp.log_delta)),
    *((f"gdp.{f.__name__}, epsilon", lambda bad, f=f: f(1.0, bad), NEGATIVE, "needs epsilon") for f in (gdp.delta, gdp.log_delta)),
    *((f"gdp.{f.__name__}, delta", lambda bad, f=f: f(1.0, bad), NO_DELTA, NEEDS_DELTA) for f in (gdp.mu, gdp.epsilon)),
    ("zcdp.epsilon, rho", lambda bad: zcdp.epsilon(bad, 1e-5), NEGATIVE, r"^zcdp\.epsilon needs rho in \[0, inf\]; got"),
    ("zcdp.rho, epsilon", lambda bad: zcdp.rho(bad, 1e-5), NEGATIVE, r"^zcdp\.rho needs epsilon in \[0, inf\]; got"),
    ("zcdp.delta, rho", lambda bad: zcdp.delta(bad, 1.0), NEGATIVE, "needs rho"),
    ("zcdp.delta, epsilon", lambda bad: zcdp.delta(1.0, bad), NEGATIVE, "needs epsilon"),
    *((f"zcdp.{f.__name__}, delta", lambda bad, f=f: f(1.0, bad), NO_DELTA, NEEDS_DELTA) for f in (zcdp.rho, zcdp.epsilon)),
    ("Ledger, epsilon", lambda bad: Ledger(bad, 1e-5), (-1.0, nan), "epsilon"),
    *((f"Ledger, delta beside {e}", lambda bad, e=e: Ledger(e, bad), (0.0, 1.0, -0.1, nan), "delta") for e in (1.0, inf)),
    *(
        (f"Ledger, {e:g} and {d:g}", lambda c, e=e, d=d: Ledger(e, d, calculus=c), EACH, f"^Ledger needs .*, got epsilon={e:g} and delta={d:g}. Choose".replace("+", r"\+"))
        for e, d in BEYOND
    ),
    ("Spend", Spend, NO_SENSITIVITY, "positive finite amount"),
    ("Budget.split", Budget(1.0).split, (0, -1, [], [0.5, 0.6], [0.5, 0.0], [1.2, -0.2]), r"Budget\.split needs"),
    ("Budget.fraction", Budget(1.0).fraction, (0.0, -0.5, 1.5, nan), r"Budget\.fraction needs"),
    ("sampling rate", lambda bad: SubsampledGaussianDP(bad, ((3.0, 1),)), (0.0, 1.5), "SubsampledGaussianDP needs a sampling rate"),
    ("sampled releases", lambda bad: SubsampledGaussianDP(0.5, bad), (((0.0, 1),), ((1.0, 0),), ()), "SubsampledGaussianDP needs a sampling rate"),
    ("mean number of trials", NumberOfTrials, (0.0, 0.99, nan, inf, 1e7), "needs a mean in"),
    ("Gaussian noise", lambda bad: GaussianMechanism.calibrated(bad, ONE), NO_SENSITIVITY, SENSITIVITY),
    ("Gumbel noise", lambda bad: GumbelMechanism.calibrated(bad, 1, ONE), NO_SENSITIVITY, f"GumbelMechanism {SENSITIVITY}"),
    ("Gumbel noise on no choice", lambda bad: GumbelMechanism.calibrated(1.0, bad, ONE), (0,), "needs at least 1 choice, got 0"),
    ("a random slope", lambda bad: PurePerturbation.calibrated((3,), bad, 0.0, 1.0, ONE), NO_SENSITIVITY, f"^PurePerturbation {SENSITIVITY}"),
    ("a normal slope", lambda bad: ObjectivePerturbation.calibrated((3,), bad, 0.0, 1.0, ONE), NO_SENSITIVITY, SENSITIVITY),
    ("its output", lambda bad: PurePerturbation.calibrated((3,), 1.0, 0.0, bad, ONE), NO_SENSITIVITY, f"^PurePerturbation {SENSITIVITY}"),
    ("its Jacobian", lambda bad: PurePerturbation.calibrated((3,), 1.0, bad, 1.0, ONE), (0.21, inf, nan, -0.1), "^PurePerturbation needs a Jacobian"),
    *(
        case for option, kind in KINDS.items() for case in (
            (f"{option}, length", kind, (0, -3), "needs a length >= 1, got"),
            (f"{option}, sensitivity", lambda bad, kind=kind: kind(3).noise_scale(bad, ONE), NO_SENSITIVITY, SENSITIVITY),
            (f"{option}, noise", lambda bad, kind=kind: kind(3).open(2, bad, SystemNoise()), (-1.0, inf, nan), "finite noise scale >= 0"),
        )
    ),
    ("custom, shape", schedules.custom, NO_VECTOR, VECTOR),
    ("custom, entries", schedules.custom, NOT_POSITIVE, POSITIVE),
    ("StreamPlan", lambda bad: StreamPlan(*bad), ((0, 0.3), (4, 0.0), (4, inf)), "at least 1 release"),
    ("bandit, ends", lambda bad: Plan("moments", bad, EACH[0]), ((), (3, 3)), "increasing ends"),
    ("bandit, clip", lambda bad: Plan("gradients", (3,), EACH[0], bad, (2,)), (0.0, inf), "positive finite clip"),
    ("bandit, answers", lambda bad: Plan("gradients", (3, 4), EACH[1], 1.0, bad), ((0, 1), (1,)), "at least 1 answer at each of them"),
    ("bandit, several answers", lambda bad: Plan(bad, (1, 2), EACH[1], 1.0, (1, 2)), ("steps", "moments", "sums"), "1 answer at each end but of"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "bad", "words"),
    [pytest.param(c, b, words, id=f"{what} {b}") for what, c, bads, words in REFUSED for b in bads],
)
def test_numbers_outside_their_range_are_refused(call, bad, words):
    with pytest.raises(ValueError, match=words):
        call(bad)
