"""Constants that were tuned stand in one place, and what stands elsewhere is known to be none."""

import ast
from pathlib import Path

from skdp.solvers import defaults

# Module-level numbers that no table has anything to say about, by file, with the reason.
NOT_TUNED = {
    "estimators/announcements.py": {"_HUNDREDTHS"},  # steps of a progress bar
    "estimators/base.py": {"_MOST_NAMES"},  # names in a message
    "estimators/solver_choice.py": {"_MOST_ROWS_OF_W"},  # time of matrices
    "estimators/forecast.py": {
        "REGIMES",  # words for a loss
        "_LARGEST_EPSILON",  # limits of advice
        "_MOST_ROWS",
        "_LEAST_DELTA",
        "_POWER_OF_DELTA",  # a convention for delta
        "_FEW_FEATURES",  # words of a message
    },
    "estimators/inference.py": {"_SIMULATIONS"},  # precision of a quantile
    "estimators/life_table.py": {"_LEAST_HAZARD"},  # keeps a logarithm finite
    "estimators/opening.py": {"_MANY_SITES", "_FEW_AT_A_SITE"},  # when to ask what sites are
    "estimators/poisson_regression.py": {"_FARTHEST"},  # overflow of exp
    # Grids that span what numbers may be; bounds that say nothing was seen; a bound of a proof.
    "estimators/range_finding.py": {"_SIZES", "_POWERS", "_UNSEEN_CAP", "_TOGETHER", "_UNSEEN"},
    "estimators/regression.py": {"_SHOWS_FEW_ROWS"},  # what a check of scikit-learn takes
    "estimators/stages.py": {"_MORE_THAN_HALF"},  # what a proof needs
    "estimators/steps_in_front.py": {"_TRIED"},  # rows of a trial
    "solvers/accmd.py": {"_STABLE"},  # stability
    "solvers/dda.py": {"_N_NODES"},  # a default parameter
    "solvers/descent.py": {"_MOST_COUNTED"},  # time of a product
    # What sampling has to save to be worth its proof; precision of a search.
    "solvers/minibatch_noise.py": {"_LEAST_MULTIPLIER", "_LEVELS", "_WIDEST", "_FOUND", "_STEP"},
    "solvers/one_step.py": {"_LEAST_MEAN", "_MOST_ROWS"},  # degenerate bounds; size
    "solvers/preconditioning/iterative_whitening.py": {"_LONGER"},  # rounding
    "solvers/preconditioning/target_mean.py": {"_NONE", "_RATES"},  # underflow of exp
    "solvers/preconditioning/whitening.py": {"_MOST_FEATURES"},  # size
    "solvers/regression_offset.py": {"_ROUNDING"},
    "solvers/schedules.py": {"_SMALLEST_RATIO", "_UNIT_ROUNDOFF"},  # rounding
    # Size; grids of a search; a value that is hardly there; a known moment; a descent to its end.
    "solvers/screening.py": {
        "_MOST_SELECTED",
        "_CENTRES",
        "_SIZES",
        "_HARDLY",
        "_GUMBEL_SD",
        "_STEPS",
        "_CLOSE",
    },
    "solvers/shrinkage.py": {"_SIZES"},  # precision of a sum
    "solvers/spider.py": {"_MOST_ROUNDS", "_LEAST_SHARE"},  # an end to a loop; rounding
}


def _numbers(file):
    """Names of constants at the top of a module whose value holds a number but 0 and 1."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        names = {n for n in names if n.isupper() and n != "_HYPERPARAMETERS"}
        values = (n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant))
        if any(isinstance(v, int | float) and v not in (0, 1) for v in values):
            yield from names


def test_no_tuned_constant_stands_outside_the_module_of_defaults():
    root = Path(defaults.__file__).parents[1]
    found = {}
    for folder in ("solvers", "estimators"):
        for file in sorted((root / folder).rglob("*.py")):
            name = file.relative_to(root).as_posix()
            if name != "solvers/defaults.py" and (names := set(_numbers(file))):
                found[name] = names
    assert found == NOT_TUNED
