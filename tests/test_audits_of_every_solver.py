"""The table of audits in small: every estimator with every solver, audited at one epsilon.

``examples/benchmarks/audit_table.py`` says which pairs of data sets tell a solver's answers apart
best; a new solver or policy has to be entered there. Audits draw their noise from the operating
system, so each test here states how often it would fail by chance.
"""

import warnings

import pytest

from skdp.audit import audit
from skdp.bandit.policies import POLICIES
from skdp.privacy.mechanisms import GaussianMechanism, PrefixSumMechanism, SiteNoise
from skdp.solvers import SOLVERS

EPSILON = 1.0
# All claims of a run together are refuted by chance once in a million runs.
FAILURE = 1e-6
# If an answer moves by all that its Gaussian noise is made for, so many draws show 0.936 of the
# claim, with a standard deviation of 0.023: errors of the test are binomial. 0.8 is six of these
# below; a fifth of the draws (0.859, 0.051) would leave 0.55.
DRAWS, SHOWN = 100_000, 0.8
# Other noise is bounded loosely, however many draws there are, and is slow to draw.
FEW_DRAWS = 1_000
# Of fits, where queries cannot be looked at: an account that is wrong by far.
FITS = 40
# Enough to see half the noise, twenty standard deviations above the claim.
DRAWS_WITH_A_BUG = 20_000


@pytest.fixture
def table(piece):
    return piece("audit_table")


@pytest.fixture
def cases(table):
    return table.cases(EPSILON)


def of(cases, option, bandits=False):
    """The cases of a solver, or of a policy; "gd, stream" is one of "gd"."""
    found = [c for c in cases if c.solver.partition(",")[0] == option]
    return [c for c in found if (c.estimator == "bandit") == bandits]


def seen(case, draws):
    with warnings.catch_warnings():
        # Rows that are this few are warned of.
        warnings.simplefilter("ignore")
        return audit(
            case.model,
            case.X,
            case.y,
            other=case.other,
            sees="queries" if case.white else "model",
            runs=draws,
            calls=case.calls,
            fit_params=case.fit_params,
        )


def refuted(result, cases):
    return result.at(1 - FAILURE / len(cases)).refuted


def audited(cases, chosen):
    assert chosen
    for case in chosen:
        tight = case.gaussian and case.white
        draws = DRAWS if tight else FEW_DRAWS if case.white else FITS
        result = seen(case, draws)
        what = (case.estimator, case.solver, str(result))
        # Minibatches spend a little less than they may.
        assert result.epsilon == pytest.approx(EPSILON, rel=1e-3), what
        assert not refuted(result, cases), what
        if tight:
            assert result.bound == "gaussian"
            assert result.ratio >= SHOWN, what


def test_every_solver_is_in_the_table(table):
    assert {name.partition(",")[0] for name in table.solvers(1.0)} == set(SOLVERS)


@pytest.mark.nightly
def test_every_case_belongs_to_a_solver_or_a_policy(cases):
    count = sum(len(of(cases, option)) for option in SOLVERS)
    assert count + sum(len(of(cases, option, bandits=True)) for option in POLICIES) == len(cases)


@pytest.mark.nightly
@pytest.mark.parametrize("option", SOLVERS)
def test_no_claim_of_a_solver_is_refuted_and_gaussian_noise_is_seen_through(cases, option):
    audited(cases, of(cases, option))


@pytest.mark.nightly
@pytest.mark.parametrize("option", POLICIES)
def test_no_claim_of_a_policy_is_refuted_and_gaussian_noise_is_seen_through(cases, option):
    audited(cases, of(cases, option, bandits=True))


def halved(honest):
    return lambda self, value, noise: 0.5 * (value + honest(self, value, noise))


@pytest.mark.nightly
@pytest.mark.parametrize("option", SOLVERS)
def test_half_the_noise_of_a_gaussian_solver_is_refuted(cases, option, monkeypatch):
    chosen = [c for c in of(cases, option) if c.gaussian and c.white]
    if not chosen:
        pytest.skip("has other noise")
    for mechanism in (GaussianMechanism, SiteNoise):
        monkeypatch.setattr(mechanism, "randomize", halved(mechanism.randomize))
    honest = PrefixSumMechanism.open
    monkeypatch.setattr(
        PrefixSumMechanism,
        "open",
        lambda self, shape, noise_scale, noise: honest(self, shape, 0.5 * noise_scale, noise),
    )
    for case in chosen:
        assert refuted(seen(case, DRAWS_WITH_A_BUG), cases), (case.estimator, case.solver)
