"""Fuzzing of what counts: accountants, ledgers, plans, budgets and audits."""

import numpy as np
from fuzzing.inputs import DELTA, EPSILON, NONSENSE
from fuzzing.properties import attempt, check_amount, require
from hypothesis import strategies as st

import skdp
from skdp.privacy.accounting import gdp, zcdp

_levels = st.one_of(
    st.floats(1e-3, 20), st.floats(0, allow_nan=False), st.sampled_from(NONSENSE), st.just(0.0)
)
_probabilities = st.one_of(
    st.floats(1e-12, 1e-2), st.floats(0, 1), st.sampled_from(DELTA), st.sampled_from(NONSENSE)
)
_growths = st.one_of(st.floats(1, 3), st.floats(1, 1 + 1e-9), st.floats(1, 1e30))


@st.composite
def accountant_cases(draw):
    """A function of two arguments, the arguments, and how much they grow."""
    calculus = draw(st.sampled_from([gdp, zcdp]))
    names = {gdp: ["epsilon", "mu", "delta"], zcdp: ["epsilon", "rho", "delta"]}[calculus]
    name = draw(st.sampled_from(names))
    second = _levels if name == "delta" else _probabilities
    return calculus, name, draw(_levels), draw(second), draw(_growths), draw(st.booleans())


def _ordered(smaller, larger, what):
    # Both are rounded to the safe side by some ulps, and inverses cost some more.
    require(smaller <= larger * (1 + 1e-6) + 1e-300, f"{what}: {smaller} > {larger}")


def check_accountant(case):
    """Figures are no NaN, not negative, and move the right way in each argument."""
    calculus, name, first, second, growth, grows_first = case
    function = getattr(calculus, name)
    value, refusal = attempt(function, first, second)
    if refusal is not None:
        return
    check_amount(value, f"{name}({first!r}, {second!r})", 1.0 if name == "delta" else np.inf)
    other = (first * growth, second) if grows_first else (first, second * growth)
    moved, refusal = attempt(function, *other)
    if refusal is not None:
        return
    check_amount(moved, f"{name}{other!r}")
    # Larger levels cost more and larger slacks allow more.
    up = grows_first or name not in ("epsilon", "delta")
    pair = (value, moved) if up else (moved, value)
    _ordered(*pair, f"{calculus.__name__}.{name} at {(first, second)!r} and {other!r}")


_anything = st.sampled_from(NONSENSE)
_counts = st.one_of(st.integers(1, 10**6), st.integers(), _anything)


@st.composite
def plan_cases(draw):
    """Sizes and a budget."""
    out = {}
    for name, values in {
        "epsilon": st.one_of(st.sampled_from(EPSILON), _levels),
        "delta": st.one_of(st.none(), _probabilities),
        "n_classes": st.one_of(st.none(), st.integers(2, 30), _anything),
        "n_informative": st.one_of(st.none(), _counts),
        "adjacency": st.one_of(st.sampled_from(["replace_one", "zero_out"]), _anything),
        "unknown_bounds": st.one_of(st.sampled_from([0, 1, 2]), _anything),
    }.items():
        if draw(st.integers(0, 3)) == 0:
            out[name] = draw(values)
    return draw(_counts), draw(_counts), out


def check_plan(case):
    """All figures of a plan are numbers, and it can be printed."""
    n, d, given = case
    made, refusal = attempt(lambda: skdp.plan(n, d, **given))
    if refusal is not None:
        return
    for name in ("mu", "sum_noise", "relative_noise", "expected_loss"):
        check_amount(getattr(made, name), name)
    require(made.rows_needed is None or made.rows_needed > 0, "rows needed")
    require(len(str(made)) > 0, "prints nothing")
