"""Privacy events: immutable facts about what was released.

An event says everything an accountant needs and nothing about the data. Events are also the
records of a receipt (``privacy_ledger_``): from their fields alone anyone can recompute what was
spent, without this package.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Hashable
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import ClassVar, NoReturn, Self, final

from ..adjacency import Adjacency


@dataclass(frozen=True)
class Part:
    """Rows of a stream, by their positions, about which some events are.

    Parts of a stream have no row in common, so that a person's row is in one of them alone and the
    spend of the stream is the largest spend of a part.

    Parameters
    ----------
    start, stop : int
        The rows ``start <= i < stop``, counted from 0 over all rows that the model has been given.
    count : int, default=1
        How many parts, one after the other, these rows are. If several, the events are those of
        the one among them that has cost most.
    """

    start: int
    stop: int
    count: int = 1


@dataclass(frozen=True)
class Site:
    """Rows that lie at one site of several.

    Sites have no row in common either. What all rows together were asked, and what each site was
    asked, adds up for its rows; the spend of a fit is that of the site that has spent most.

    Parameters
    ----------
    label : hashable
        Name of the site.
    within : Part, optional
        The part of a stream whose rows the sites share out.
    """

    label: Hashable
    within: Part | None = None


@dataclass(frozen=True, kw_only=True)
class Event(ABC):
    """One kind of release, made ``count`` times with the same parameters.

    Kinds of release take these parameters and those that their docstrings list as attributes.
    ``least_share`` is what a single release has to be, at least, of the total of the ledger that
    holds it; above a half it says that there can be one only, and that it outweighs all others.

    Parameters
    ----------
    query : str
        Name of the query that was answered.
    purpose : str, default=''
        Words for what the answer is used for.
    sensitivity : float
        Most that the exact answer can move between neighbouring data sets, in the norm or range
        that the mechanism needs, already doubled where the adjacency asks for it.
    noise_scale : float
        Scale of the noise, in the units of the answer.
    count : int, default=1
        How many such releases.
    part : Part or Site, optional
        Which rows were asked about; None are all rows of a fit.
    """

    least_share: ClassVar[float] = 0.0

    # The same for all events of a kind, and a field so that ``dataclasses.asdict`` tells the kind.
    mechanism: str = field(init=False, repr=False, default="")
    query: str
    purpose: str = ""
    sensitivity: float
    noise_scale: float
    count: int = 1
    part: Part | Site | None = None

    def __post_init__(self) -> None:
        self.sensitivity > 0 or self._refuse("a positive sensitivity", self.sensitivity)
        self.noise_scale >= 0 or self._refuse("a noise scale >= 0", self.noise_scale)
        self.count >= 1 or self._refuse("a count >= 1", self.count)

    @final
    def _refuse(self, what: str, given: object) -> NoReturn:
        raise ValueError(f"{type(self).__name__} needs {what}, got {given}.")

    @final
    def changed(self, **fields: object) -> Self:
        """A copy with other sound fields: an event is checked once, when it is made."""
        out = object.__new__(type(self))
        vars(out).update(vars(self), **fields)
        return out

    @property
    def ratio(self) -> float:
        """Sensitivity in units of the noise, of one release; infinite without noise."""
        return self.sensitivity / self.noise_scale if self.noise_scale else inf


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(Event):
    """Gaussian noise of standard deviation ``noise_scale`` on an answer of l2 ``sensitivity``.

    Costs ``(sensitivity / noise_scale)**2`` in mu^2 of Gaussian DP (Dong, Roth and Su, 2022).
    """

    mechanism: str = field(init=False, repr=False, default="gaussian")

    @property
    def mu_squared(self) -> float:
        """Price in mu^2 of one release."""
        # A product overflows to infinity, a power to an error.
        ratio = self.ratio
        return ratio * ratio


@dataclass(frozen=True, kw_only=True)
class ThresholdEvent(Event):
    """Names of cells that nobody has declared, whose counts with Gaussian noise exceed a threshold.

    It is the composition of a Gaussian release of l2 ``sensitivity`` and noise of standard
    deviation ``noise_scale``, which costs ``(sensitivity / noise_scale)**2`` in mu^2, and of one
    that is (0, ``threshold_delta``)-DP, which adds to the delta of whatever it is composed with
    (theorem T1 of ``docs/proofs/histograms_and_counts.md``).

    Attributes
    ----------
    threshold_delta : float
        Largest probability, in (0, 1), with which any cell is published that one person alone is
        in.
    """

    mechanism: str = field(init=False, repr=False, default="threshold")

    threshold_delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.threshold_delta
        0 < given < 1 or self._refuse("a delta in (0, 1) of its threshold", given)

    @property
    def counts(self) -> GaussianEvent:
        """The Gaussian release that it is made of."""
        common = {k: v for k, v in vars(self).items() if k not in ("mechanism", "threshold_delta")}
        return GaussianEvent(**common)


@dataclass(frozen=True, kw_only=True)
class ExponentialEvent(Event):
    """A choice by the exponential mechanism, or equivalently by Gumbel report-noisy-max.

    ``sensitivity`` is the *range*: the most by which the difference of two candidates' scores can
    move. ``noise_scale`` is the scale of the Gumbel noise on each score. Their ratio eta makes the
    choice eta-bounded-range, which is (eta^2 / 8)-zCDP (Cesar and Rogers, 2021).
    """

    mechanism: str = field(init=False, repr=False, default="exponential")


@dataclass(frozen=True, kw_only=True)
class NonPrivateEvent(Event):
    """An exact answer. It makes every total infinite, which is the honest receipt for it."""

    mechanism: str = field(init=False, repr=False, default="non_private")

    sensitivity: float = inf
    noise_scale: float = 0.0

    def __post_init__(self) -> None:
        if isfinite(self.sensitivity) or self.noise_scale != 0:
            raise ValueError("NonPrivateEvent has no noise; its sensitivity is infinite.")
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class PerturbationEvent(Event):
    """The minimiser of an objective to which a random linear function was added, with noise on it.

    ``sensitivity`` is the most by which the gradient of the objective can move at one point, in l2,
    and ``noise_scale`` the scale of the random slope.

    Attributes
    ----------
    jacobian : float
        Bound on the logarithm of the ratio of the two Jacobian determinants.
    output_sensitivity : float
        Most by which the computed minimisers of neighbours, both for slopes with the same exact
        minimiser, can be apart, in l2.
    output_noise_scale : float
        Scale of the noise, of the same kind, on the computed minimiser.
    """

    jacobian: float
    output_sensitivity: float
    output_noise_scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("jacobian", "output_sensitivity", "output_noise_scale"):
            getattr(self, name) >= 0 or self._refuse(f"a {name} >= 0", getattr(self, name))

    @property
    def output_ratio(self) -> float:
        """Most that the computed minimiser moves, in units of the noise on it."""
        if self.output_noise_scale:
            return self.output_sensitivity / self.output_noise_scale
        return inf if self.output_sensitivity else 0.0


@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbationEvent(PerturbationEvent):
    """A perturbed objective whose random slope, and noise on the minimiser, are normal.

    Scales are standard deviations. A release of this kind has to be more than half of what its
    ledger holds, and comes once. See :mod:`skdp.privacy.accounting.perturbation`.

    Attributes
    ----------
    of_units : bool
        Whether neighbours differ in all rows of a privacy unit.
    """

    mechanism: str = field(init=False, repr=False, default="objective_perturbation")
    least_share: ClassVar[float] = 0.51

    of_units: bool = False


@dataclass(frozen=True, kw_only=True)
class PurePerturbationEvent(PerturbationEvent):
    """A perturbed objective of pure epsilon.

    The slope b has a density in proportion to ``exp(-||b|| / noise_scale)``. The ratio of
    sensitivity and noise, ``jacobian`` and the ratio of the output add up to the epsilon of a
    release. See :mod:`skdp.privacy.mechanisms.perturbed_objective`.
    """

    mechanism: str = field(init=False, repr=False, default="pure_perturbation")

    @property
    def epsilon(self) -> float:
        """The epsilon of one release."""
        return self.ratio + self.jacobian + self.output_ratio


@dataclass(frozen=True, kw_only=True)
class PrefixSumEvent(Event):
    """All running sums of a stream of terms, with normal noise that is correlated over time.

    With A the lower triangle of ones and A = B C, the noise is B times independent normals of
    standard deviation ``noise_scale``. Each person takes part in ``max_visits`` terms at most, each
    of which a neighbour can move by ``sensitivity`` in l2. Costs
    ``(sensitivity * column_norm / noise_scale)**2`` in mu^2 for the whole stream, also if terms
    depend on earlier sums; see :class:`~skdp.privacy.mechanisms.prefix_sums.PrefixSumMechanism`.

    Attributes
    ----------
    factorization : str
        Name of the way in which A is written as B C.
    length : int
        Number of terms, at least 1.
    column_norm : float
        Largest l2 norm of a column of C, or of a sum of ``max_visits`` different ones, or more.
    max_visits : int, default=1
        Most terms that a person takes part in, at least 1.
    """

    mechanism: str = field(init=False, repr=False, default="prefix_sums")

    factorization: str
    length: int
    column_norm: float
    max_visits: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.length >= 1 or self._refuse("a length >= 1", self.length)
        self.max_visits >= 1 or self._refuse("max_visits >= 1", self.max_visits)
        norm = self.column_norm
        0 < norm < inf or self._refuse("a positive finite column norm", norm)

    @property
    def mu_squared(self) -> float:
        """The whole stream's mu^2, which its steps share out among them whatever comes between."""
        moves = self.sensitivity * self.column_norm
        ratio = moves / self.noise_scale if self.noise_scale else inf
        return ratio * ratio


@dataclass(frozen=True, kw_only=True)
class SampledGaussianEvent(Event):
    """Gaussian noise on a sum over rows that are drawn in secret, each with a known probability.

    Rows are drawn independently (Poisson sampling), afresh for each release. ``sensitivity`` is
    what a neighbour can change if the row in question is drawn: twice the bound on a row under
    replace-one and once under zero-out. The two relations have different dominating pairs, so the
    event says which one is meant. See :mod:`skdp.privacy.accounting.subsampling`.

    Attributes
    ----------
    sampling_rate : float
        Probability with which a row is drawn, in (0, 1].
    adjacency : Adjacency
        Neighbouring relation.
    """

    mechanism: str = field(init=False, repr=False, default="sampled_gaussian")

    sampling_rate: float
    adjacency: Adjacency

    def __post_init__(self) -> None:
        super().__post_init__()
        0 < self.sampling_rate <= 1 or self._refuse("a sampling rate in (0, 1]", self.sampling_rate)

    @property
    def noise_multiplier(self) -> float:
        """Noise in units of the bound on a row."""
        return self.noise_scale / (self.sensitivity / self.adjacency.of_sum(1.0))


@dataclass(frozen=True, kw_only=True)
class SearchEvent(Event):
    """The best of several private trials, each of which trains a model and scores it with noise.

    ``sensitivity / noise_scale`` is the mu of a trial, its score included, under Gaussian DP, or,
    for ``calculus='concentrated'``, the square root of 2 rho of zCDP; for
    ``calculus='approximate'`` it is the epsilon of a trial. See
    :mod:`skdp.reporting.number_of_trials`.

    Attributes
    ----------
    calculus : str
        Calculus of a trial: ``'gaussian'``, ``'concentrated'`` or ``'approximate'``.
    published : str
        ``'best'`` if the number of trials is secret, of logarithmic distribution, and only the best
        is published, or ``'all'`` if their number is public and all of them may be published.
    mean_trials : float
        Expected number of trials, in [1, 1e6] if it is secret.
    trial_delta : float, default=0.0
        The delta of a trial, if it is approximate.
    """

    mechanism: str = field(init=False, repr=False, default="search")

    calculus: str
    published: str
    mean_trials: float
    trial_delta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        known = self.calculus in ("gaussian", "concentrated", "approximate")
        published, delta = self.published in ("best", "all"), self.trial_delta
        known or self._refuse("a known calculus", self.calculus)
        published or self._refuse("'best' or 'all' to be published", self.published)
        self.mean_trials >= 1 or self._refuse("mean trials >= 1", self.mean_trials)
        0 <= delta < 1 or self._refuse("a delta in [0, 1) of a trial", delta)


@dataclass(frozen=True, kw_only=True)
class SiteGaussianEvent(GaussianEvent):
    """A Gaussian release of one site of several, and where its noise came from.

    ``noise_scale`` is the noise that protects the site against the adversary named by ``trust``;
    the price is that of a Gaussian release with it.

    Attributes
    ----------
    trust : str
        ``'local'``: noise of the site alone. ``'pairwise'``: with secret masks between pairs of
        sites. ``'secure_sum'``: of all honest sites, whose sum alone is seen. ``'final_model'``: of
        all sites, which trust each other. ``'central'``: of a trusted aggregator.
    own_noise_scale : float
        What the site itself adds that nobody cancels.
    colluders : int, default=0
        Number of curious sites whose secrets the adversary has.
    """

    mechanism: str = field(init=False, repr=False, default="site_gaussian")

    trust: str
    own_noise_scale: float
    colluders: int = 0
