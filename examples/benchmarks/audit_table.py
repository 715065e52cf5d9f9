"""How much of what is claimed can be seen: estimators and solvers, audited on worst-case pairs.

Each row of the table is one estimator with one solver at one epsilon. *Queries* is the bound from
all answers of the oracle in one recorded fit, each drawn anew up to a million times; *model* is the
bound from the published coefficients of 200 whole fits. Both hold with 95 % confidence. Settings
are such that each query can be moved by its whole sensitivity by one and the same row: weights
stay near zero, where rows of two classes, or targets at either end, are clipped on opposite sides.
The data are four rows of two features. With ``--people`` data sets differ in a person: the first
row is that of somebody who has fifty such rows, and in the second data set of somebody who has one
other row.

    python examples/benchmarks/audit_table.py [--people] [--quick] [--jobs 2] [--only gd] [--out F]

It prints progress and then the table, and fails if a bound exceeds its claim at a confidence that
is shared out over all bounds, or if a Gaussian solver shows less than 0.9 of its claim.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from skdp import (
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPSVMClassifier,
)
from skdp.audit import AuditResult, audit
from skdp.bandit.policies import BlocksPolicy, FTRLPolicy, GDPolicy, HDBPolicy, SparsePolicy
from skdp.problem.constraints import L1Ball, L2Ball
from skdp.solvers import (
    DDA,
    FTRL,
    GD,
    PPM,
    SVRG,
    AccMD,
    AdaptiveGD,
    AdaSSP,
    Blocks,
    DualAveraging,
    FrankWolfe,
    ObjectivePerturbation,
    OneStep,
    PreconditionedGD,
    QuantileGD,
    Screening,
    Solver,
    Spider,
    TrackedGD,
)

EPSILONS, DELTA = (0.5, 1.0, 4.0), 1e-5
# Answers for each data set: what it takes for a bound within a few percent.
RUNS = {0.5: 1_000_000, 1.0: 400_000, 4.0: 100_000}
# Fits for each data set, where so few can show something. Bandits and streams are always fitted.
FITS = {0.5: 0, 1.0: 0, 4.0: 200}
CONFIDENCE, TIGHT = 0.95, 0.9
STEPS, SHORT = 5, 1e-6
# Below this derivative, which all rows of full norm have at zero, a slightly shorter row is whole.
JUST_CLIPPED, SHORTER = 0.9995, 0.999
ROWS_OF_A_PERSON = 50
LABELS, TARGETS = np.array([0, 1, 0, 1]), np.array([1.0, -1.0, 1.0, -1.0])
X = np.tile([1.0, 0.0], (4, 1))
USERS = 12


@dataclass(frozen=True)
class Case:
    """One row of the table.

    ``runs`` are answers, and ``fits`` fits, for each data set; without ``white`` there are no
    answers to look at.
    """

    estimator: str
    solver: str
    model: Any
    y: np.ndarray
    other: tuple[np.ndarray, ...] | None
    X: np.ndarray
    runs: int
    fits: int
    calls: int | None = None
    white: bool = True
    gaussian: bool = True
    fit_params: dict[str, Any] = field(default_factory=dict)


def solvers(derivative: float) -> dict[str, tuple[Solver, dict[str, Any]]]:
    """A solver of each kind that stays near zero, and what else the row of the table needs."""
    short = {"total_step_size": SHORT, "clip": 0.25}
    differences = {"total_step_size": SHORT, "steps": STEPS, "clip": JUST_CLIPPED * derivative}
    few = {"gaussian": False, "runs": 20_000}
    return {
        "accmd": (AccMD(steps=STEPS, radius=SHORT, clip=0.25), {}),
        "adaptive_gd": (AdaptiveGD(steps=STEPS, **short), {}),
        "adassp": (AdaSSP(), {}),
        "blocks": (Blocks(solver=GD(steps=STEPS, **short)), {}),
        "blocks, stream": (Blocks(solver=GD(steps=STEPS, **short), first=4), {"calls": 2}),
        "dda": (DDA(rounds=STEPS, **short), {"fit_params": {"sites": [0, 0, 1, 1]}}),
        "dual_averaging": (DualAveraging(steps=STEPS, clip=0.25), {}),
        "frank_wolfe, ball": (FrankWolfe(steps=STEPS, clip=0.25), {"constraint": L2Ball(SHORT)}),
        "frank_wolfe, gumbel": (
            FrankWolfe(steps=STEPS, clip=0.25, noise="gumbel"),
            {"constraint": L1Ball(SHORT), **few},
        ),
        "ftrl": (FTRL(reach=SHORT, clip=0.25), {}),
        "ftrl, stream": (FTRL(reach=SHORT, clip=0.25), {"calls": 4, "white": False}),
        "gd": (GD(steps=STEPS, average=1.0, **short), {}),
        "gd, stream": (GD(steps=STEPS, average=1.0, **short), {"calls": 2}),
        "objective_perturbation": (
            ObjectivePerturbation(clip=0.25, strength=40.0),
            {**few, "runs": 5_000},
        ),
        # Moments of curvatures and scores are moved by all there is by different rows. Few rows are
        # refused.
        "one_step": (OneStep(), {"gaussian": False, "runs": 20_000, "copies": 20}),
        "ppm": (PPM(stages=2, steps=STEPS, **short), {}),
        "screening": (Screening(), {**few, "runs": 100_000}),
        "spider": (Spider(**differences), {"shorter": True}),
        "svrg": (SVRG(**differences), {"shorter": True}),
        "svrg, minibatch": (
            SVRG(**{**differences, "steps": 3}, inner=3, batch_size=2),
            # Planning its noise anew for each fit would take minutes.
            {**few, "shorter": True, "fits": 0},
        ),
        "preconditioned_gd": (PreconditionedGD(steps=STEPS, clip=0.25, score_noise=SHORT), {}),
        "quantile_gd": (QuantileGD(rounds=1, steps=STEPS), {"gaussian": False}),
        "tracked_gd": (TrackedGD(steps=STEPS, whole=0.1), {}),
    }


def estimators(epsilon: float) -> dict[str, tuple[Any, np.ndarray, float]]:
    """Models without a solver, their targets, and the derivative of their loss at zero."""
    shared = {"epsilon": epsilon, "delta": DELTA, "data_norm": 1.0, "fit_intercept": False}
    classes = shared | {"classes": [0, 1], "precondition": None}
    targets = shared | {"target_bounds": (-1, 1)}
    three = classes | {"classes": [0, 1, 2]}
    return {
        "logistic": (DPLogisticRegression(**classes), LABELS, 0.5),
        "softmax": (DPLogisticRegression(**three), LABELS, np.sqrt(2 / 3)),
        "svm": (DPSVMClassifier(**classes), LABELS, 2.0),
        "linear": (DPLinearRegression(precondition=None, **targets), TARGETS, 1.0),
        "lasso": (DPLassoRegressor(**targets), TARGETS, 1.0),
        "quantile": (DPQuantileRegressor(precondition=None, **targets), TARGETS, 0.5),
        # Half the cap is expected of all rows at zero.
        "counts": (
            DPPoissonRegressor(**shared, precondition=None, target_bounds=(0, 2)),
            TARGETS + 1.0,
            0.5,
        ),
    }


def shorter(y: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A row that is just not clipped, and one of another class, or with another target, that is.

    Their gradients are opposite, and the difference of gradients is that of the first alone. With a
    single feature all steps are along the row.
    """
    first, second = X[:, :1].copy(), X[:, :1].copy()
    first[0] *= SHORTER
    other = y.copy()
    other[0] = y[1]
    return (first, y), (second, other)


def cases(epsilon: float) -> list[Case]:
    """All rows of the table for one epsilon; what a solver declines is left out."""
    out = []
    for name, (model, y, derivative) in estimators(epsilon).items():
        for option, (solver, how) in solvers(derivative).items():
            how = dict(how)
            params = {"constraint": how.pop("constraint")} if "constraint" in how else {}
            rows, targets, other = X, y, None
            if how.pop("shorter", False):
                if name == "softmax":
                    # No row moves gradients in several scores and their differences by all there
                    # is at once: little is spent on the latter.
                    solver = replace(solver, clip=0.25, share=0.02)
                else:
                    (rows, targets), other = shorter(y)
            if not set(params) <= set(model.get_params()):
                continue
            copies = how.pop("copies", 1)
            rows, targets = np.tile(rows, (copies, 1)), np.tile(targets, copies)
            params["solver"] = solver
            fitted = type(model)(**model.get_params()).set_params(**params)
            if how.get("calls"):
                fitted.set_params(horizon=len(y))
            always = how.get("calls") and not how.get("white", True)
            how = {"runs": RUNS[epsilon], "fits": 200 if always else FITS[epsilon]} | how
            case = Case(name, option, fitted, targets, other, rows, **how)
            if takes(case):
                out.append(case)
    users = np.tile([1.0, 0.0], (USERS, 1))
    returned = np.tile([1.0, 0.0], (USERS, 1))
    reverse = returned.copy()
    reverse[0] = [0.0, 1.0]
    # Moments move most by a row that is turned by 60 degrees, with the opposite reward.
    turned = users.copy()
    turned[0] = [0.5, np.sqrt(0.75)]
    few = {"gaussian": False, "runs": 20_000}
    policies = {
        "blocks": (BlocksPolicy(), turned, {}),
        "ftrl": (FTRLPolicy(), users, {"white": False}),
        "gd": (GDPolicy(steps=3), users, {}),
        "hdb": (HDBPolicy(), users, few),
        "hdb, ftrl": (HDBPolicy(solver=FTRL()), users, {"white": False}),
        "sparse": (SparsePolicy(), users, few),
    }
    for option, (policy, contexts, how) in policies.items():
        bandit = DPContextualBandit(
            [0, 1],
            epsilon=epsilon,
            delta=DELTA,
            data_norm=1.0,
            horizon=USERS,
            policy=policy,
            fit_intercept=False,
        )
        how = {"runs": RUNS[epsilon], "fits": 200} | how
        out.append(Case("bandit", option, bandit, returned, (contexts, reverse), users, **how))
    return out


def of_people(case: Case) -> Case | None:
    """The row of the table for a person of many rows; None for what takes no people as it is."""
    if case.estimator == "bandit" or case.calls or case.fit_params:
        return None
    labels = np.append(np.zeros(ROWS_OF_A_PERSON, dtype=int), np.arange(1, len(case.y)))
    y = case.y.copy()
    y[0] = case.y[1]
    other: tuple[np.ndarray, ...] | None = (*(case.other or (case.X, y)), np.arange(len(y)))
    if case.estimator == "softmax" and case.other is None:
        # Of three classes the opposite one is not the worst; all rows are replaced by one that is.
        other = None
    found = replace(
        case,
        X=np.concatenate([np.repeat(case.X[:1], ROWS_OF_A_PERSON, 0), case.X[1:]]),
        y=np.concatenate([np.repeat(case.y[:1], ROWS_OF_A_PERSON), case.y[1:]]),
        other=other,
        fit_params={"privacy_unit": labels},
        fits=0,
    )
    return found if takes(found) else None


def takes(case: Case) -> bool:
    """Whether the estimator takes the solver."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if case.estimator != "bandit":
                case.model.fit(case.X, case.y, **case.fit_params)
        except ValueError:
            return False
    return True


def measure(case: Case, quick: bool) -> dict[str, Any]:
    """Both bounds of one row."""
    row: dict[str, Any] = {"estimator": case.estimator, "solver": case.solver}
    row["claimed"] = float(case.model.epsilon)
    how = {"other": case.other, "calls": case.calls, "fit_params": case.fit_params}
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: dict[str, AuditResult] = {}
        if case.white:
            runs = case.runs // 100 if quick else case.runs
            found["queries"] = audit(
                case.model, case.X, case.y, sees="queries", runs=max(runs, 1000), **how
            )
        if case.fits:
            fits = case.fits // 5 if quick else case.fits
            found["model"] = audit(case.model, case.X, case.y, sees="model", runs=fits, **how)
    for sees, result in found.items():
        row[sees], row[f"{sees}_ratio"] = result.epsilon_lower_bound, result.ratio
        row[f"{sees}_bound"], row[f"{sees}_runs"] = result.bound, result.runs
        # Shared out over a thousand bounds.
        row[f"{sees}_refuted"] = result.at(1 - (1 - CONFIDENCE) / 1000).refuted
    row["gaussian"] = case.gaussian
    row["seconds"] = time.perf_counter() - began
    print(line(row), flush=True)
    return row


def line(row: dict[str, Any]) -> str:
    """One row as text."""
    cells = [f"{row['estimator']:<9}", f"{row['solver']:<23}", f"{row['claimed']:>4g}"]
    for sees in ("queries", "model"):
        text = " " * 13
        if sees in row:
            text = f"{row[sees]:>6.3f} {row[f'{sees}_ratio']:>6.3f}"
        cells.append(text)
    kind = row["queries_bound" if "queries" in row else "model_bound"]
    return " | ".join([*cells, f"{kind:<15}", f"{row['seconds']:>5.0f} s"])


def report(rows: list[dict[str, Any]]) -> list[str]:
    """What contradicts the claims, and what falls short of being tight."""
    complaints = []
    for row in rows:
        what = f"{row['estimator']}, {row['solver']}, epsilon={row['claimed']:g}"
        for sees in ("queries", "model"):
            if row.get(f"{sees}_refuted"):
                complaints.append(f"REFUTED: {what} ({sees}): at least {row[sees]:.4f}")
        if row["gaussian"] and row.get("queries_ratio", 1.0) < TIGHT:
            complaints.append(f"not tight: {what}: {row['queries_ratio']:.3f}")
    return complaints


def main() -> int:
    """Measure, print, complain."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", action="store_true", help="data sets that differ in a person")
    parser.add_argument("--quick", action="store_true", help="few runs, for a try")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="one solver, or one estimator")
    parser.add_argument("--out", type=Path, help="where to write the rows as JSON")
    options = parser.parse_args()
    began = time.perf_counter()
    chosen = [case for epsilon in EPSILONS for case in cases(epsilon)]
    if options.people:
        chosen = [case for case in map(of_people, chosen) if case is not None]
    if options.only:
        chosen = [c for c in chosen if options.only in (c.estimator, c.solver)]
    print(f"{len(chosen)} rows; estimator | solver | claimed | queries, ratio | model, ratio")
    run = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    rows = []
    for row in run(delayed(measure)(case, options.quick) for case in chosen):
        rows.append(row)
        if options.out:
            options.out.write_text(json.dumps(rows, indent=1))
    order = {(c.estimator, c.solver, c.model.epsilon): k for k, c in enumerate(chosen)}
    rows.sort(key=lambda row: order[row["estimator"], row["solver"], row["claimed"]])
    print("\n".join(["", *map(line, rows)]))
    complaints = [] if options.quick else report(rows)
    if not options.quick:
        print("\n".join(complaints or ["no claim refuted, and every Gaussian solver tight"]))
    print(f"{time.perf_counter() - began:.0f} seconds with {options.jobs} processes")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
