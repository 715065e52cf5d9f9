"""Private linear support vector machine, binary and one-vs-rest."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.svm import LinearSVC

from ..problem.constraints import Constraint
from ..problem.losses import Hinge, HuberisedHinge, Loss, OneVsRest, SquaredHinge
from ..solvers import Solver
from ..solvers.preconditioning import Preconditioner
from ..validation import CLASSIFIERS, keep_parameters, one_of, with_advice
from .base import solvers_but
from .classification import PrivateLinearClassifier

_LOSSES: dict[str, Loss] = {
    "hinge": Hinge(),
    "huberised_hinge": HuberisedHinge(),
    "squared_hinge": SquaredHinge(),
}


class DPSVMClassifier(PrivateLinearClassifier):
    """Differentially private linear support vector machine.

    A swap-in for :class:`sklearn.svm.LinearSVC`. The coefficients, the intercept and everything
    else that a fitted model publishes are together (epsilon, delta)-differentially private with
    respect to the rows of the training data. The number of rows, the number of features, the
    classes and all parameters are public.

    Minimises the mean loss plus ``||w||^2 / (2 n C)``, or ``||w||_1 / (n C)``, by a private solver.
    Two classes take one score, more take one each, every class against the rest. All are learned
    together within one budget: a row belongs to the data of all of them, so its gradients are
    clipped as one.

    Parameters
    ----------
    penalty : {'l2', 'l1'}, default='l2'
        Half the squared l2 norm of the coefficients, or their l1 norm.
    loss : {'squared_hinge', 'hinge', 'huberised_hinge'} or Loss, default='squared_hinge'
        What a row costs by its margin. The squared hinge is unbounded, so the fit replaces it by
        one that is linear far on the wrong side. ``'huberised_hinge'`` is the hinge loss with its
        corner rounded off, for solvers that need a smooth loss; a configured
        ``HuberisedHinge(width=...)`` says how far. Any loss for two classes with one score a row
        can be given.
    fit_intercept : bool, default=True
        Whether to fit an intercept. Unlike LinearSVC's it is neither penalised nor constrained.
    class_weight : dict or 'balanced', optional
        Weight of each label, 1 where missing; a dict must not be computed from the data.
        ``'balanced'`` spends 2 % of the budget on counts of the labels, and weighs each by the
        inverse of its own. A row has the weight of its own label against every class (with more
        than two classes LinearSVC weighs only the rows of the class compared with the rest).
    solver : str or Solver, default='auto'
        The algorithm: ``'auto'``, or one of
        {solvers}
        (see :mod:`skdp.solvers`). ``'auto'`` is ``'dual_averaging'`` for preconditioned sparse rows
        of more than 1000 features, ``'frank_wolfe'`` for an l1 ball or simplex and many features,
        ``'dda'`` with ``sites``, else ``'gd'``, whose bounds are blind for labels for two classes
        with many rows; under ``partial_fit`` it is ``'blocks'``, or if rows may not be kept
        ``'ftrl'``, for an l1 ball or simplex ``'frank_wolfe'``. The plain hinge loss is not smooth,
        which leaves ``'adaptive_gd'``, ``'blocks'``, ``'dda'``, ``'dual_averaging'``, ``'ftrl'``,
        ``'gd'`` and ``'ppm'``. ``'objective_perturbation'`` takes two classes, and neither an l1
        penalty nor a constraint. A solver that asks for more than the problem offers refuses before
        anything is spent. A configured instance such as ``GD(steps=50)`` sets its hyperparameters.
    precondition : {'auto', 'diagonal', 'full', 'wide'}, Preconditioner or None, default='auto'
        Whether a tenth of the budget goes to bringing the rows to coordinates in which noise hurts
        less: centred and scaled (``'diagonal'``), also whitened (``'full'``), or left as they are
        (None). ``'auto'`` conditions dense rows, the cheaper way where n or the budget is small,
        unless there is an l1 penalty or a constraint. ``'wide'``, a quarter of the budget, is for
        hundreds to thousands of dense features, and is ``'auto'`` where rows or budget are too few
        for it. The model stays linear in X, and penalties keep their meaning: they are about
        ``coef_``.

    Notes
    -----
    Each call of ``fit`` spends (epsilon, delta) anew: fits on the same rows add up.

    There is no ``predict_proba``: margins are no probabilities, and ``CalibratedClassifierCV``
    turns them into such by a fit without privacy, so calibrate on public rows only, or use
    :class:`DPLogisticRegression`.

    Up to about epsilon = 10 the default solver clips the gradient of each row well below its
    largest possible value, which brings any of the losses close to a multiple of the hinge loss.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate (2011) for private support vector machines.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer
    >>> from skdp import DPSVMClassifier
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> private = DPSVMClassifier(epsilon=1.0, delta=1e-5, data_norm=1.0, classes=[0, 1])
    >>> model = make_pipeline(Normalizer(), private).fit(X, y)
    >>> round(private.privacy_spent_.epsilon, 6)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateLinearClassifier._parameter_constraints,
        "penalty": [one_of("l1", "l2")],
        "loss": [one_of(*_LOSSES), Loss],
        "solver": solvers_but(
            "adassp", "one_step", "preconditioned_gd", "quantile_gd", "screening", "tracked_gd"
        ),
    }

    _counterpart = LinearSVC
    penalty: str
    loss: str | Loss

    @with_advice(CLASSIFIERS)
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        C: float | None = None,
        penalty: str = "l2",
        loss: str | Loss = "squared_hinge",
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        class_weight: dict[Any, float] | str | None = None,
        classes: Any = None,
        data_norm: float | None = None,
        data_bounds: Any = None,
        max_weight: float = 1.0,
        adjacency: str = "replace_one",
        solver: str | Solver = "auto",
        constraint: Constraint | None = None,
        precondition: str | Preconditioner | None = "auto",
        horizon: int | None = None,
        buffer: bool = True,
        max_visits: int = 1,
        warm_start: bool | str = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    @property
    def _l1_share(self) -> float:
        return float(self.penalty == "l1")

    def _loss_of(self, n_classes: int) -> Loss:
        loss = _LOSSES[self.loss] if isinstance(self.loss, str) else self.loss
        if not (loss.n_scores == 1 and loss.takes(0.0, 1.0) and not loss.takes(0.5)):
            raise ValueError(
                f"{type(self).__name__} needs a loss for two classes with one score a row, got "
                f"{type(loss).__name__}; pass one such as Hinge() or HuberisedHinge()."
            )
        return loss if n_classes == 2 else OneVsRest(loss, n_classes)
