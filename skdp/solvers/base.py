"""Base of solvers: algorithms that see a problem and an oracle, never rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import isinf
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np

from ..privacy.accounting.calculus import Calculus, GaussianDP
from ..problem.losses import Loss, OneVsRest
from ..problem.problem import Problem
from ..validation import check_hyperparameters, count, interval, shown

if TYPE_CHECKING:
    from ..privacy.adjacency import Adjacency
    from ..privacy.oracle import Oracle

# Ranges of hyperparameters that mean the same in all solvers that have them.
_HYPERPARAMETERS: dict[str, list[Any]] = {
    "steps": [None, count()],
    "total_step_size": [None, interval(0, None, "neither")],
    "clip": [None, interval(1e-50, None, "both")],
    "momentum": [None, interval(0, 1, "left")],
    "average": [interval(0, 1, "both")],
    "batch_size": [None, count()],
    "label_blind": [None, "boolean"],
}


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Covariance of a solution w, from released numbers alone.

    Parameters
    ----------
    sampling, noise : ndarray of shape (p, p)
        Parts of the covariance that are due to the rows being a sample, and to privacy.
    drawn : ndarray of shape (p, p) or None
        Covariance of simulated solutions, where it may be larger than the sum of the two.
    loose, firm : ndarray of shape (p, j)
        Directions in which w moves with the inverse of a curvature that is noise, and with one
        that stands out of it.
    resolution : float
        Least eigenvalue of the curvature in units of the spectral norm of its noise.
    last_step : float
        Length of the last step beyond what its own error explains, in units of the root of p; on
        a long one the loss may bend.
    shares : mapping of str to (float, float)
        Noisy shares of the rows, and the standard deviations of their noise.
    """

    sampling: np.ndarray
    noise: np.ndarray
    drawn: np.ndarray | None
    loose: np.ndarray
    firm: np.ndarray
    resolution: float
    last_step: float
    shares: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def of_first(self, p: int) -> Uncertainty:
        """Uncertainty of the first p entries alone."""
        kept = {name: getattr(self, name)[:p, :p] for name in ("sampling", "noise")}
        drawn = None if self.drawn is None else self.drawn[:p, :p]
        return replace(self, drawn=drawn, loose=self.loose[:p], firm=self.firm[:p], **kept)


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights found by a solver, and the number of its iterations.

    Parameters
    ----------
    w : ndarray
        The solution, in the shape of the problem.
    n_iter : int
        Number of iterations, a function of public facts and released answers.
    uncertainty : Uncertainty, optional
        Covariance of the solution, if the solver knows it.
    loss : Loss, optional
        The loss with parameters of its own that the solver has found, if it has.
    """

    w: np.ndarray
    n_iter: int
    uncertainty: Uncertainty | None = None
    loss: Loss | None = None


@dataclass(frozen=True)
class Hyperparameters:
    """Base of solvers and policies, whose fields are hyperparameters."""

    @classmethod
    @final
    def option(cls) -> str:
        """The string that selects this class: its module's name."""
        return cls.__module__.rpartition(".")[2]

    @final
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Hyperparameters by name, so that a search can reach ``solver__name``."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @final
    def set_params(self, **params: Any) -> Self:
        """Change hyperparameters in place, as scikit-learn's searches do on their own clones.

        As with nested estimators, a solver that was passed to two estimators is one object: setting
        ``solver__name`` on either of them changes both. Pass each its own, or a clone.
        """
        known = {f.name for f in fields(self)}
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} needs one of its hyperparameters {sorted(known)}, got "
                    f"{name!r}; set another one."
                )
            object.__setattr__(self, name, self._kept(value))
        return self

    def _kept(self, value: Any) -> Any:
        """The value of a hyperparameter as it is kept; by default as it was given."""
        return value


@dataclass(frozen=True)
class Solver(Hyperparameters, ABC):
    """A deterministic function of the oracle's answers and of public randomness.

    Fields are hyperparameters. A solver asks the oracle queries and says what share of the
    budget each answer may cost; it never states a sensitivity or a noise scale. Everything it
    returns is therefore post-processing of paid answers.

    ``calculus`` says how the ledger has to add up what the solver asks for: exactly if all of it is
    answered with Gaussian noise, and otherwise by a calculus that prices mixtures. Solvers whose
    calculus depends on their fields or on the budget say so in ``calculus_for``.

    ``federated`` says that rows may lie at several sites, ``problem.sites``. ``central`` says that
    somebody may see exact answers about all rows together, before noise is added. ``in_order`` says
    that rows have to lie one after another, also where they are all there. ``descends`` says that
    it starts where the problem says and moves by clipped gradients, so that private coordinates
    and a good start help. ``whitened`` says that it is made for regression in white coordinates,
    and ``preconditions`` that it finds its own. ``selects`` says that few features are expected to
    matter, ``two_classes`` that it takes no more of them, and ``bounded_streams`` that it needs a
    bounded constraint where rows come one after another. ``infers`` says that it knows the
    covariance of its solution, which nothing may change then.

    ``hyperparameters`` are the ranges of its fields, but for those that mean the same in all
    solvers that have them: ``steps``, ``total_step_size``, ``clip``, ``momentum``, ``average``,
    ``batch_size`` and ``label_blind``.
    """

    calculus: ClassVar[Calculus] = GaussianDP()
    federated: ClassVar[bool] = False
    in_order: ClassVar[bool] = False
    descends: ClassVar[bool] = False
    whitened: ClassVar[bool] = False
    preconditions: ClassVar[bool] = False
    selects: ClassVar[bool] = False
    two_classes: ClassVar[bool] = False
    bounded_streams: ClassVar[bool] = False
    infers: ClassVar[bool] = False
    hyperparameters: ClassVar[dict[str, list[Any]]] = {}

    @property
    def central(self) -> bool:
        """True in the central model of privacy: somebody may see exact answers about all rows."""
        return True

    @property
    def shrinks(self) -> bool:
        """True if it moves a solution for residuals back to the start as far as noise explains."""
        return False

    @property
    def counts_rows(self) -> bool:
        """True if ``problem.n_samples`` has to be the number of rows, whatever they weigh."""
        sampled = getattr(self, "batch_size", None) is not None
        return self.federated or self.in_order or sampled

    @property
    def settled(self) -> bool:
        """True if the calculus is that of the class, whatever the rows and the budget."""
        return type(self).calculus_for is Solver.calculus_for

    @property
    def trusted_party(self) -> str | None:
        """Whom it trusts with more than noisy messages of single sites, in a few words."""
        return "somebody with the rows of all sites"

    def check(self, problem: Problem) -> None:
        """Refuse hyperparameters that make no sense, or a problem that this solver cannot take.

        Called before anything is asked or paid. The row and target bounds of the problem may be
        stand-ins for bounds that are yet to be estimated, so the answer must not depend on them.

        Parameters
        ----------
        problem : Problem
            Loss, penalty, constraint and public sizes.

        Raises
        ------
        ValueError
            Naming the hyperparameter, or what the problem lacks, and the way out.
        """
        self.check_ranges(problem)
        self.refuse(problem)

    @final
    def check_ranges(self, problem: Problem) -> None:
        """Refuse hyperparameters outside of their ranges, and such as this problem does not allow.

        Parameters
        ----------
        problem : Problem
            As in ``check``.
        """
        name, given = type(self).__name__, self.get_params()
        check_hyperparameters(_HYPERPARAMETERS | self.hyperparameters, given, name)
        clip, batch_size = given.get("clip"), given.get("batch_size")
        if clip is not None and isinf(min(clip, problem.loss.lipschitz)):
            raise ValueError(
                f"{name} needs a finite clip for {name_of(problem.loss)}, whose derivative is "
                "unbounded, got clip=inf. Pass a number, or leave clip out for a default."
            )
        if batch_size is not None and batch_size > problem.n_samples:
            raise ValueError(
                f"{name} needs a batch_size of at most the number of rows, {problem.n_samples}, "
                f"got {batch_size}. Leave batch_size out to take all of them."
            )

    def refuse(self, problem: Problem) -> None:
        """Refuse a problem that this solver cannot take; by default it takes all of them.

        Parameters
        ----------
        problem : Problem
            As in ``check``, which calls this.
        """

    def check_pure(self, problem: Problem) -> None:
        """Refuse what cannot be solved with pure epsilon, delta = 0; in place of ``check`` then.

        Most solvers have Gaussian noise and refuse all of it.

        Parameters
        ----------
        problem : Problem
            Loss, penalty, constraint and public sizes.

        Raises
        ------
        ValueError
            Naming what stands against it, and the way out.
        """
        raise ValueError(
            f"{type(self).__name__} needs a positive delta for its noise, got delta=0. Use the "
            "solver 'objective_perturbation' or 'auto', or leave delta out."
        )

    def check_budget(self, problem: Problem, mu: float) -> None:
        """Refuse a budget that is too small for this solver; most take any.

        Called before anything is asked or paid. As in ``check``, bounds may be stand-ins.

        Parameters
        ----------
        problem : Problem
            Loss, penalty, constraint and public sizes.
        mu : float
            Gaussian-DP parameter of what is left for the solver.

        Raises
        ------
        ValueError
            Naming what is needed, what there is, and the way out.
        """

    def calculus_for(
        self, problem: Problem, epsilon: float, delta: float, adjacency: Adjacency
    ) -> Calculus:
        """The calculus that the ledger of a fit is opened with, before anything is asked or paid.

        By default that of the class. As in ``check``, bounds may be stand-ins.

        Parameters
        ----------
        problem : Problem
            Loss, penalty, constraint and public sizes.
        epsilon, delta : float
            The whole budget.
        adjacency : Adjacency
            Neighbouring relation.

        Raises
        ------
        ImportError
            If the accounting of minibatches needs dp-accounting and it is missing.

        Warns
        -----
        UserWarning
            If minibatches are so small that answers about them are noisier than about all rows.
        """
        return self.calculus

    def assumption(self, problem: Problem) -> str | None:
        """A sentence on what the solver assumes where parameters leave something open, or None.

        Plans print it, and fits warn of it. By default there is nothing.

        Parameters
        ----------
        problem : Problem
            Loss, penalty, constraint and public sizes; bounds may be stand-ins.
        """
        return None

    def from_nearby(self, mu: float) -> Solver | None:
        """A copy that takes only as many steps as a start near the solution needs, or None.

        Parameters
        ----------
        mu : float
            Gaussian-DP parameter of the budget.
        """
        return None

    @abstractmethod
    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        """Minimise the problem.

        Parameters
        ----------
        problem : Problem
            Loss, penalty, constraint and public bounds.
        oracle : Oracle
            Answers queries about the rows for a share of its budget.
        rng : Generator
            Public randomness.
        """


def refuse_all_but_ridge(
    solver: Solver, problem: Problem, advice: str = ". Use the solver 'gd'."
) -> None:
    """Refuse penalties that are no quadratic forms, and constraints.

    Parameters
    ----------
    solver : Solver
        Who refuses them.
    problem : Problem
        As in ``check``.
    advice : str
        End of the sentence, with the way out.
    """
    if problem.tied_to_coordinates:
        raise ValueError(
            f"{type(solver).__name__} needs a ridge penalty or none and no constraint, got "
            f"{shown(problem.penalty)} and {shown(problem.constraint)}{advice}"
        )


def name_of(loss: Loss) -> str:
    """The class of a loss, or that of the loss of each class if there are several."""
    if isinstance(loss, OneVsRest):
        return f"{type(loss.loss).__name__}, one class against the rest"
    return type(loss).__name__
