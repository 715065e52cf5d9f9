"""Refusals: parameters, rows and solvers that do not go together, and what to do instead.

One table, by the moment at which its facts are known: rows of a condition and the sentence that
follows the name of the estimator. The first that applies is raised, before anything is paid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isinf
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..privacy.accounting.calculus import Calculus, PerturbedGaussianDP
from ..privacy.adjacency import PrivacyUnit
from ..privacy.rows.base import ResidentRows, RowStore
from ..privacy.rows.dask_rows import DaskRows
from ..privacy.sites.remote_rows import RemoteRows
from ..problem.constraints import Constraint
from ..problem.penalties import Penalty
from ..solvers import Blocks, Solver
from ..solvers.streaming import StreamingSolver
from ..validation import shown

if TYPE_CHECKING:
    from .stages import Case


def refuse(model: Any, sentences: Iterable[str]) -> None:
    """Raise the first of the sentences, if there is one.

    Parameters
    ----------
    model : estimator
        Its class is named.
    sentences : iterable of str
        Of a moment below.

    Raises
    ------
    ValueError
        With that sentence.
    """
    for sentence in sentences:
        raise ValueError(f"{type(model).__name__} {sentence}")


def of_dask_sites(model: Any, y: Any, sample_weight: Any) -> Iterator[str]:
    """Arguments of ``fit`` beside DaskSites."""
    if y is not None:
        yield "needs y=None when X is DaskSites, which hold targets."
    if sample_weight is not None:
        yield "needs sample_weight=None when X is DaskSites, whose loaders return pairs (X, y)."
    if isinf(model.epsilon):
        yield (
            "needs a finite epsilon when X is DaskSites, which keep accounts of their own, got "
            "epsilon=inf. Pass arrays and sites to compare with."
        )


def of_units_at_sites(unit: PrivacyUnit, privacy_unit: Any) -> Iterator[str]:
    """Units that sites protect, and others that ``fit`` was told of."""
    told = privacy_unit is None or privacy_unit is True
    if not told or (unit is PrivacyUnit.DECLARED) != (privacy_unit is True):
        yield (
            "needs privacy_unit=True with DaskSites whose loaders return (X, y, labels), and None "
            "with those that return (X, y)."
        )


def of_chunks(y: Any, sample_weight: Any, privacy_unit: Any) -> Iterator[str]:
    """Arguments of ``fit`` beside Chunks."""
    if y is not None:
        yield "needs y=None when X is Chunks, which hold the targets."
    if sample_weight is not None:
        yield (
            "needs sample_weight=None when X is Chunks, which deliver weights as the third part of "
            "(X_chunk, y_chunk, weight_chunk)."
        )
    if not (privacy_unit is None or privacy_unit is True):
        yield (
            "needs privacy_unit=True when X is Chunks, which deliver labels as the fourth part of "
            "(X_chunk, y_chunk, weight_chunk or None, label_chunk), got a "
            f"{type(privacy_unit).__name__}."
        )


def of_sites(sites: Any, rows: RowStore) -> Iterator[str]:
    """Labels of sites beside rows that do not lie in memory, or not one by one."""
    if sites is None:
        return
    if isinstance(rows, RemoteRows):
        yield "needs sites=None when X is DaskSites, which name the sites."
    if rows.unit is not PrivacyUnit.ROW:
        yield (
            "needs sites=None with privacy_unit, as the rows of a unit may lie at several sites; "
            "got both. Leave one of them out."
        )
    if isinstance(rows, DaskRows):
        yield (
            "needs sites=None when X is a dask collection. Pass DaskSites, which keep the rows of "
            "each site where they lie, or arrays along with sites."
        )


def of_classes(model: Any, classes: np.ndarray) -> Iterator[str]:
    """Classes that are too few or too many for the solver, and weights of others, or none."""
    if classes.size < 2:
        count = "1 class" if classes.size else "none"
        yield f"needs at least 2 classes, got {count}. Pass classes=[...]."
    if classes.size > 2 and model._two_classes and model.delta != 0:
        yield (
            f"with {model._kind.__name__} needs 2 classes, got {classes.size}. Only binary "
            "classification is supported. Use the solver 'gd', or one model for each class "
            "(OneVsRestClassifier) within a share of the budget."
        )
    weights = model.class_weight if isinstance(model.class_weight, dict) else {}
    if unknown := tuple(label for label in weights if not np.any(classes == label)):
        yield f"needs class_weight for labels in classes, got {shown(unknown)}."
    numeric = all(isinstance(w, Real) for w in weights.values())
    if not numeric or any(not (w == 0 or 1e-50 <= w <= 1e50) for w in weights.values()):
        yield f"needs class weights that are 0 or between 1e-50 and 1e50, got {shown(weights)}."
    if len(weights) == classes.size and not any(weights.values()):
        yield f"needs a positive weight for at least one class, got {shown(weights)}."


def of_bounds(model: Any) -> Iterator[str]:
    """Bounds of rows that are given twice."""
    if model.data_norm is not None:
        yield (
            "needs data_norm=None with data_bounds, which bound the rows feature by feature, got "
            "both. Leave one of them out."
        )


def of_scaled_columns(model: Any, penalty: Penalty, constraint: Constraint) -> Iterator[str]:
    """Penalties and constraints beside columns in other units than the user's."""
    if not (penalty.quadratic and constraint.whole_space):
        given = {"constraint": model.constraint, "positive": getattr(model, "positive", False)}
        if penalty.selects:
            given |= {of: getattr(model, of, None) for of in ("alpha", "l1_ratio", "penalty")}
        asked = [f"{of}={shown(value)}" for of, value in given.items() if value]
        yield (
            "needs an l2 penalty or none, and no constraint, with data_bounds, because others "
            f"would be about columns in units that are not yours, got {', '.join(asked)}. Put "
            "BoundsScaler in front of the model instead."
        )


def of_pure_epsilon(case: Case) -> Iterator[str]:
    """Parameters that take more than the one answer of a fit with delta = 0."""
    model, missing = case.model, case.model._bounds_to_find
    wanted = {
        "data_norm or data_bounds of all columns": bool(model._unknown_columns),
        "target_bounds": "target_bounds" in missing,
        "precondition='auto' or None": model.precondition not in (None, "auto"),
        "class_weight=None or a dict": model.class_weight == "balanced",
        "rows at one place": case.problem.sites is not None,
    }
    if lacking := [what for what, lacks in wanted.items() if lacks]:
        yield (
            f"with delta=0 needs {' and '.join(lacking)}, because all else is found with Gaussian "
            "noise, which has a positive delta. Pass that, or leave delta out."
        )


def of_named_solver(case: Case, solver: Solver) -> Iterator[str]:
    """Parameters beside a solver that has no use for them."""
    model, option = case.model, solver.option()
    preconditioned = model.precondition not in (None, "auto") and solver.preconditions
    if preconditioned and (solver.infers or not case.classifies):
        yield (
            f"needs precondition=None with the solver '{option}', which finds coordinates by "
            f"itself, got precondition={shown(model.precondition)}."
        )
    if solver.infers and model.class_weight is not None:
        yield (
            f"needs class_weight=None with the solver '{option}', because weights of classes "
            f"change what coefficients mean, got class_weight={shown(model.class_weight)}."
        )


def of_solver(case: Case, solver: Solver) -> Iterator[str]:
    """Units, sites and targets that a solver has no proof or no place for."""
    model, problem, kind = case.model, case.problem, type(solver).__name__
    # Sites that answer for themselves ask themselves for gradients, which are proved for units.
    at_sites = problem.sites is not None and problem.sites.of_units
    by_rows = solver.in_order or (solver.federated and not at_sites)
    if case.unit is PrivacyUnit.DECLARED and by_rows:
        yield (
            f"needs privacy_unit=None with {kind}, whose answers are proved private for single "
            "rows, not for all rows of a privacy unit together. Use another solver, such as 'gd' "
            "or 'auto'."
        )
    if problem.sites is not None and problem.loss.of_times:
        yield (
            "needs rows at one place, because its baseline is a life table of all of them, got "
            "rows at several sites. Leave sites out."
        )
    if problem.sites is not None and not solver.federated:
        yield (
            "needs a solver for rows at several sites, given by sites or DaskSites, got "
            f"{kind}, which reads all rows at one place. Use solver='dda', or leave sites out."
        )
    if solver.federated and problem.loss.vector_targets:
        yield (
            f"with {kind} needs one target a row, got {problem.loss.n_scores}. Use another solver, "
            "without sites, or fit one target at a time, each with a part of the budget."
        )
    asked = {"precondition": model.precondition not in (None, "auto")}
    asked["class_weight"] = model.class_weight == "balanced"
    needs = [f"{what}={getattr(model, what)!r}" for what, wanted in asked.items() if wanted]
    if model.data_bounds is not None:
        needs.append("the moments by which data_bounds scale columns")
    elif model._bounds_to_find:
        needs.append("bounds to be estimated")
    if needs and not solver.central:
        yield (
            f"with {kind} has nobody who may ask the rows of all sites together, which is needed "
            f"for {' and '.join(needs)}. Pass data_norm (and target_bounds), leave the others out, "
            "or use DDA(noise='central')."
        )


def of_stream(model: Any, solver: Solver) -> Iterator[str]:
    """Parameters that ask a stream for rows that it does not keep, or that are yet to come."""
    if isinstance(solver, Blocks) and not model.buffer:
        yield (
            "needs buffer=True for the solver 'blocks', which keeps the rows of a block until it "
            "is full, got buffer=False. Use the solver 'ftrl', which keeps none."
        )
    if not isinstance(solver, StreamingSolver):
        return
    option, missing = solver.option(), set(model._bounds_to_find)
    if model.delta == 0:
        yield (
            "with delta=0 needs the solver 'blocks' for a stream, and buffer=True, because running "
            f"sums have Gaussian noise, got {option!r}. Use it, or leave delta out."
        )
    if not model._unknown_columns:
        # Bounds of all features bound rows, if roughly.
        missing.discard("data_norm")
    if model._progress.released is None and missing:
        yield (
            f"needs all bounds of rows and targets for the solver {option!r}, which cannot look "
            "for them in rows that are yet to come. Pass data_norm or data_bounds, and "
            "target_bounds for a regressor."
        )
    if model.precondition not in (None, "auto"):
        yield (
            f"needs precondition=None for a stream with the solver {option!r}, got "
            f"{shown(model.precondition)}."
        )
    if model.class_weight == "balanced":
        yield (
            f"needs public class weights for a stream with the solver {option!r}, got "
            "class_weight='balanced', which takes counts of rows that are yet to come."
        )


def of_one_answer(solver: Solver, calculus: Calculus, left: float) -> Iterator[str]:
    """Shares that leave too little for a perturbed minimum."""
    if isinstance(calculus, PerturbedGaussianDP) and left <= 0.5:
        yield (
            "needs more than half of the budget for the one answer of "
            f"{type(solver).__name__}, got {left:.0%} of it after what is paid for first. Pass "
            "data_norm or data_bounds, or a preconditioner of a smaller share."
        )


def of_place(rows: RowStore, solver: Solver) -> Iterator[str]:
    """Rows that lie where a solver cannot take them."""
    if isinstance(rows, DaskRows) and (solver.federated or solver.in_order):
        yield (
            "needs arrays, not dask collections, with a solver that takes rows one after another "
            "or by sites; use another one, such as 'gd'."
        )
    in_memory = isinstance(rows, ResidentRows)
    if solver.infers and rows.unit is PrivacyUnit.DECLARED and not in_memory:
        yield (
            "needs arrays or CSR matrices, not chunks or dask collections, with privacy_unit and "
            "intervals, as errors follow from the sums of each privacy unit, whose rows may lie "
            "anywhere. Use another solver, such as 'auto', or pass rows in memory."
        )
    if isinstance(rows, RemoteRows) and solver.trusted_party is not None:
        yield (
            "needs DDA(noise='local') without subsampling for sites on workers, got a solver that "
            f"trusts {solver.trusted_party}."
        )
