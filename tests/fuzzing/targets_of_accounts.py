"""Fuzzing of what counts: accountants, ledgers, plans, budgets and audits."""

from contextlib import closing

import numpy as np
from examples_of_queries import EXAMPLES
from fuzzing.inputs import (
    DELTA,
    EPSILON,
    NONSENSE,
    matrices,
    parameters,
    targets,
)
from fuzzing.properties import (
    attempt,
    check_amount,
    require,
)
from hypothesis import strategies as st

import skdp
from skdp import DPContextualBandit, DPLinearRegression, DPLogisticRegression, PrivacyBudget
from skdp.audit import audit, audit_query
from skdp.privacy import Adjacency
from skdp.privacy.accounting import (
    ExponentialEvent,
    GaussianDP,
    GaussianEvent,
    Ledger,
    PrivacySpent,
    ZeroConcentratedDP,
    gdp,
    zcdp,
)
from skdp.privacy.rows import DenseRows
from skdp.reporting import NumberOfTrials, Receipt, compose
from skdp.reporting import number_of_trials as trials

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


@st.composite
def cases_of_trials(draw):
    """A number of trials and levels."""
    mean = draw(st.one_of(st.floats(1, 50), st.sampled_from([1, 1.0, 1e6, 0, np.nan, None, "a"])))
    mu = draw(st.one_of(st.floats(1e-3, 5), st.sampled_from(NONSENSE)))
    delta = draw(st.one_of(st.floats(1e-12, 1e-2), st.sampled_from(DELTA)))
    return mean, mu, delta, draw(st.floats(1, 3))


def check_trials(case):
    """The price of a search is a number, and grows with the noise taken away."""
    mean, mu, delta, growth = case
    number, refusal = attempt(lambda: NumberOfTrials(mean))
    if refusal is not None:
        return
    value, refusal = attempt(lambda: trials.epsilon(mu, delta, number))
    if refusal is not None:
        return
    check_amount(value, "epsilon of a search")
    moved, _ = attempt(lambda: trials.epsilon(mu * growth, delta, number))
    require(moved is not None and value <= moved * (1 + 1e-6) + 1e-4, f"{value} > {moved}")
    require(value >= gdp.epsilon(mu, delta) * (1 - 1e-6) - 1e-4, "cheaper than a trial")


@st.composite
def ledger_cases(draw):
    """A budget, and charges."""
    epsilon = draw(st.one_of(st.sampled_from([*EPSILON, np.inf]), _levels))
    delta = draw(st.one_of(st.sampled_from(DELTA), _probabilities))
    calculus = draw(st.sampled_from([GaussianDP(), ZeroConcentratedDP(), None]))
    charges = draw(st.lists(st.tuples(st.booleans(), _levels, _levels, _levels), max_size=6))
    return epsilon, delta, calculus, charges


def check_ledger(case):
    """What is recorded only grows, stays below the limit, and what is refused changes nothing."""
    epsilon, delta, calculus, charges = case
    ledger, refusal = attempt(lambda: Ledger(epsilon, delta, calculus=calculus))
    if refusal is not None:
        return
    before = PrivacySpent(0.0, 0.0)
    for gaussian, sensitivity, noise, count in charges:
        kind = GaussianEvent if gaussian else ExponentialEvent
        event, refusal = attempt(kind, "query", sensitivity, noise, count=count)
        if refusal is not None:
            continue
        receipt = ledger.receipt()
        _, refusal = attempt(ledger.charge, event)
        if refusal is not None:
            require(ledger.receipt() == receipt, "a refusal was recorded")
        after = ledger.spent()
        check_amount(after.epsilon, "spent epsilon", ledger.epsilon)
        check_amount(ledger.remaining, "what remains")
        require(ledger.total <= ledger.limit, "above the limit")
        require(after.epsilon >= before.epsilon * (1 - 1e-12), f"falls: {before} to {after}")
        before = after
    receipt = Receipt(ledger.receipt(), before)
    total, refusal = attempt(lambda: compose([receipt, receipt]))
    require(refusal is None, f"no total: {refusal!r}")
    check_amount(total.epsilon, "total epsilon")
    require(total.epsilon >= before.epsilon * (1 - 1e-6), f"two cost {total}, one {before}")


@st.composite
def composition_cases(draw):
    """Some events, of which one gets less noise."""
    sizes = st.floats(1e-3, 1e3)
    events = draw(
        st.lists(st.tuples(st.booleans(), sizes, st.integers(1, 50)), min_size=1, max_size=4)
    )
    relations = draw(st.lists(st.sampled_from(list(Adjacency)), min_size=1, max_size=2))
    return events, relations, draw(_probabilities), draw(st.floats(1, 10))


def check_composition(case):
    """More noise never costs more, and one more fit never costs less."""
    events, relations, delta, less = case

    def total(factor, fits=1):
        made = [
            (GaussianEvent if gaussian else ExponentialEvent)("q", 1.0, noise * factor, count=count)
            for gaussian, noise, count in events
        ]
        own = PrivacySpent(np.inf, 0.0)
        receipts = [Receipt(tuple(made), own, relation) for relation in relations]
        return compose(receipts * fits, delta)

    value, refusal = attempt(lambda: total(1.0))
    if refusal is not None or delta is None:
        return
    check_amount(value.epsilon, "total epsilon")
    noisier, twice = total(less), total(1.0, 2)
    _ordered(noisier.epsilon, value.epsilon, "more noise")
    _ordered(value.epsilon, twice.epsilon, "twice")


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


@st.composite
def budget_cases(draw):
    """A ceiling and fits under it."""
    epsilon = draw(st.one_of(st.sampled_from([1.0, 0.1]), _levels))
    delta = draw(st.one_of(st.just(1e-5), _probabilities))
    rule = draw(st.sampled_from(["auto", "gaussian", "renyi", "sums", "nonsense", None, 1]))
    relation = draw(st.sampled_from(["replace_one", "replace_one", "zero_out", "nonsense"]))
    fits = st.tuples(
        st.sampled_from(["gd", "objective_perturbation", "auto"]),
        st.floats(1e-3, 1),
        st.sampled_from([1e-5, 1e-9, 1e-3]),
        st.sampled_from(["replace_one", "zero_out"]),
    )
    return epsilon, delta, rule, relation, draw(st.lists(fits, max_size=4))


def check_budget(case):
    """What is spent grows, and stays below the ceiling."""
    epsilon, delta, rule, relation, fits = case
    made, refusal = attempt(
        lambda: PrivacyBudget(epsilon, delta, adjacency=relation, accounting=rule)
    )
    if refusal is not None:
        return
    _, refusal = attempt(made.open)
    if refusal is not None:
        return
    X, y, before = np.eye(12)[:, :3], np.arange(12) % 2, 0.0
    with closing(made):
        for solver, share, own, adjacency in fits:
            model = DPLogisticRegression(
                epsilon=min(10.0, share), delta=own, classes=[0, 1], data_norm=1.0, solver=solver,
                adjacency=adjacency, precondition=None,
            )  # fmt: skip
            runs = len(made.receipts)
            _, failure = attempt(model.fit, X, y)
            if failure is not None:
                require(len(made.receipts) == runs, "a refusal is on the book")
            spent = check_amount(made.spent.epsilon, "spent", made.epsilon * (1 + 1e-12))
            require(spent >= before * (1 - 1e-9), f"falls from {before} to {spent}")
            check_amount(made.remaining.epsilon, "remaining")
            before = spent
        require(len(repr(made)) > 0, "says nothing")


@st.composite
def audit_cases(draw):
    """An audit of few runs."""
    options = draw(
        parameters(
            {
                "runs": [20, 10, 1, 0, None],
                "sees": ["auto", "queries", "model", "answers", "nonsense"],
                "method": ["many_runs", "one_run"],
                "bound": ["auto", "clopper_pearson", "gaussian"],
                "confidence": [0.95, 0.5, 1.0, 1e-12],
                "row": [0, 1, -1, 99],
                "calls": [None, 1, 2, 50],
            },
            rarely=0.05,
        )
    )
    options = {"runs": 20, "sees": "queries"} | options
    if options["runs"] is None:
        options["runs"] = 20
    model = draw(
        st.sampled_from(
            [
                DPLogisticRegression(classes=[0, 1], data_norm=1.0, solver="gd", precondition=None),
                DPLinearRegression(data_norm=1.0, target_bounds=(-1, 1), solver="adassp"),
                DPLinearRegression(data_norm=1.0, target_bounds=(-1, 1), adjacency="zero_out"),
                DPContextualBandit([0, 1], data_norm=1.0, horizon=20),
                DPLogisticRegression, None, "model",
            ]
        )
    )  # fmt: skip
    n = draw(st.sampled_from([3, 8, 2, 1, 0]))
    usual = "two" if isinstance(model, DPLogisticRegression) else "real"
    return model, draw(matrices(n)), draw(targets(n, usual)), options


def check_audit(case):
    """A bound is a number."""
    model, X, y, options = case
    made, refusal = attempt(lambda: audit(model, X, y, **options))
    if refusal is not None:
        return
    check_amount(made.epsilon_lower_bound, "the bound")
    check_amount(made.epsilon, "the claim")
    require(len(str(made)) > 0, "says nothing")


@st.composite
def query_cases(draw):
    """A query, two data sets that differ in a row, and options."""
    kind = draw(st.sampled_from([kind for kind in EXAMPLES if "sampled" not in kind.name]))
    made = EXAMPLES[kind][draw(st.integers(0, 1))]
    example = made[draw(st.integers(0, len(made) - 1))]
    X, y = example.X.copy(), example.y.copy()
    X[0], y[0] = example.other_X[0], example.other_y[0]
    options = draw(
        parameters(
            {
                "adjacency": [Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT, "replace_one", "nonsense"],
                "epsilon": EPSILON,
                "delta": DELTA,
                "runs": [20, 1, 0, -3, 2.5],
                "confidence": [0.95, 0.5, 1.0, 1e-12],
            }
        )
    )
    options = {"runs": 20} | options
    first, second = (DenseRows(*rows, example.weights) for rows in ((example.X, example.y), (X, y)))
    strange = st.sampled_from([None, "rows", np.eye(3), DenseRows(np.eye(2), np.ones(2))])
    if not draw(st.integers(0, 9)):
        second = draw(strange)
    query = (
        draw(st.sampled_from([None, "gradient", kind])) if not draw(st.integers(0, 19)) else None
    )
    return example.query if query is None else query, first, second, options


def check_query(case):
    """A bound is a number, at most the claim unless by bad luck."""
    query, first, second, options = case
    made, refusal = attempt(lambda: audit_query(query, first, second, **options))
    if refusal is not None:
        return
    check_amount(made.epsilon_lower_bound, "the bound")
    check_amount(made.epsilon, "the claim", options.get("epsilon", 1.0))
    require(not made.at(1 - 1e-9).refuted, f"refuted: {made}")
    require(len(str(made)) > 0, "says nothing")
