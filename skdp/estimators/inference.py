"""Standard errors, intervals and tests of coefficients, from what a private fit has released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from math import sqrt
from typing import Any, final

import numpy as np
from scipy import stats
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..exceptions import UnresolvedWarning, warn_user
from ..preprocessing.scaler import Scaler
from ..problem.problem import Problem
from ..solvers import Solution
from ..solvers.defaults import Inference as tuned
from ..validation import check_numbers, shown

# Models that have intervals.
_WHO_INFERS = "DPHazardRegressor, DPLinearRegression, DPLogisticRegression or DPPoissonRegressor"
# Simulations of the largest of several z values.
_SIMULATIONS = 20_000
# Numbers below each other, with room between them, where a page has no style of its own.
_CELL = '<td style="text-align: right; padding: 0 0.6em">{}</td>'


@dataclass(frozen=True, eq=False)
class Contrast:
    """Estimates of combinations of coefficients, with standard errors; see ``Inference.t_test``.

    Parameters
    ----------
    effect : ndarray of shape (q,)
        Estimates.
    null : ndarray of shape (q,)
        Values that they are compared with.
    cov : ndarray of shape (q, q)
        Covariance of the estimates.
    """

    effect: np.ndarray
    null: np.ndarray
    cov: np.ndarray

    @property
    def sd(self) -> np.ndarray:
        """Standard errors, of sampling and privacy together."""
        return np.sqrt(np.diag(self.cov))

    @property
    def tvalue(self) -> np.ndarray:
        """Distances from the null in standard errors."""
        return (self.effect - self.null) / self.sd

    @property
    def pvalue(self) -> np.ndarray:
        """Two-sided p-values, by the normal distribution."""
        return 2 * stats.norm.sf(np.abs(self.tvalue))

    def conf_int(self, alpha: float = 0.05) -> np.ndarray:
        """Ends of the intervals, shape (q, 2).

        Parameters
        ----------
        alpha : float, default=0.05
            One minus the coverage of each interval.
        """
        reach = _quantile("Contrast.conf_int", alpha) * self.sd
        return np.column_stack([self.effect - reach, self.effect + reach])


@dataclass(frozen=True)
class WaldTest:
    """Test that several combinations of coefficients are all at their null.

    Parameters
    ----------
    statistic : float
        Squared distance in the metric of the covariance.
    pvalue : float
        Its tail of the chi-squared distribution.
    df_denom : int
        Degrees of freedom, the number of combinations.
    """

    statistic: float
    pvalue: float
    df_denom: int


@final
@dataclass(frozen=True, eq=False)
class Inference:
    """Standard errors, tests and intervals of a private fit, under the names that statsmodels uses.

    All of it follows from what the fit has paid for, and costs no further privacy. Standard errors
    hold for rows whose errors vary in size (a sandwich estimate), and for rows of a privacy unit
    that are alike (a cluster-robust one). They have two parts: the error of sampling, which any fit
    has, and the noise of privacy. A coefficient that hangs on directions in
    which noise hides how the features vary has no standard error that could be trusted, and NaN in
    its place.

    If the model is wrong, coefficients are those of the weighted and clipped rows, see
    :class:`skdp.solvers.OneStep`; with a ridge penalty they are the penalised ones.

    Parameters
    ----------
    names : tuple of str
        Names of the features, then ``'const'`` for the intercept, if there is one. Of several
        classes each name is behind that of its class, as in ``'b: x0'``.
    params : ndarray of shape (p,)
        ``coef_``, then ``intercept_``; of several classes their differences to those of the first.
    nobs : int
        Number of rows, or of privacy units, or what weighted ones weigh together as far as that is
        known.
    sampling, privacy : ndarray of shape (p, p)
        Parts of the covariance, before it is widened.
    widening : ndarray of shape (p,)
        Factors of standard errors, at least 1, that simulations ask for.
    loose_share : ndarray of shape (p,)
        Share of each coefficient's spread that is in directions which noise hides.
    resolution : float
        Least curvature in units of its noise; below 1 there are such directions.
    last_step : float
        Length of the last step in white coordinates, beyond what its own error explains; above .1
        the logistic loss may bend on it.
    clipped : dict of str to (float, float)
        Noisy shares of rows that were weighted down or clipped, and standard deviations of their
        noise.
    model : str
        What was fitted, for the summary.
    classes : tuple
        Labels of several classes, and empty otherwise. ``params`` compare each of them with the
        first, one class after another; see :meth:`of_class`.
    counted : str, default='rows'
        What ``nobs`` counts, in the plural.
    ratio : str, optional
        What the exponential of a coefficient is called, where the summary has a column of them.
    """

    names: tuple[str, ...]
    params: np.ndarray
    nobs: int
    sampling: np.ndarray
    privacy: np.ndarray
    widening: np.ndarray
    loose_share: np.ndarray
    resolution: float
    last_step: float
    clipped: dict[str, tuple[float, float]]
    model: str
    classes: tuple[Any, ...] = ()
    counted: str = "rows"
    ratio: str | None = None

    def __repr__(self) -> str:
        return repr(self.summary())

    def of_class(self, label: Any) -> Inference:
        """One of several classes against the first: coefficients of the log-odds of the two.

        Parameters
        ----------
        label : label
            A class but the first.

        Raises
        ------
        ValueError
            If there is no such class.
        """
        if label not in self.classes[1:]:
            raise ValueError(
                f"Inference.of_class needs a class that is compared with the first of several, one "
                f"of {self.classes[1:]}, got {shown(label)}."
            )
        place, p = self.classes[1:].index(label), len(self.params) // (len(self.classes) - 1)
        kept = slice(place * p, (place + 1) * p)
        return replace(
            self,
            names=tuple(name.removeprefix(f"{label}: ") for name in self.names[kept]),
            params=self.params[kept],
            sampling=self.sampling[kept, kept],
            privacy=self.privacy[kept, kept],
            widening=self.widening[kept],
            loose_share=self.loose_share[kept],
            model=f"{self.model}, {label} against {self.classes[0]}",
            classes=(),
        )

    @property
    def trusted(self) -> np.ndarray:
        """Mask of the coefficients whose standard errors can be trusted, shape (p,)."""
        return self.loose_share <= tuned.MOST_LOOSE

    def cov_params(self, *, trust_all: bool = False) -> np.ndarray:
        """Covariance of the coefficients, shape (p, p).

        Parameters
        ----------
        trust_all : bool, default=False
            Whether to give numbers also where they are not to be trusted, in place of NaN.
        """
        cov = (self.sampling + self.privacy) * np.outer(self.widening, self.widening)
        if not trust_all:
            cov[~self.trusted] = np.nan
            cov[:, ~self.trusted] = np.nan
        return cov

    @property
    def bse(self) -> np.ndarray:
        """Standard errors, shape (p,)."""
        return np.sqrt(np.diag(self.cov_params()))

    @property
    def noise_share(self) -> np.ndarray:
        """Share of the variance of each coefficient that is due to privacy, shape (p,)."""
        whole = np.diag(self.cov_params())
        return 1 - np.diag(self.sampling) / whole

    @property
    def tvalues(self) -> np.ndarray:
        """Coefficients over their standard errors, shape (p,); normal under the null."""
        return self.params / self.bse

    @property
    def pvalues(self) -> np.ndarray:
        """Two-sided p-values of the coefficients being zero, shape (p,)."""
        return 2 * stats.norm.sf(np.abs(self.tvalues))

    def conf_int(
        self, alpha: float = 0.05, *, trust_all: bool = False, simultaneous: bool = False
    ) -> np.ndarray:
        """Ends of the confidence intervals, shape (p, 2).

        Parameters
        ----------
        alpha : float, default=0.05
            One minus the coverage.
        trust_all : bool, default=False
            Whether to give numbers also where they are not to be trusted, in place of NaN.
        simultaneous : bool, default=False
            Whether the coverage is that of all intervals together, by the distribution of the
            largest of the z values, and not that of each.
        """
        reach = _quantile("Inference.conf_int", alpha)
        cov = self.cov_params(trust_all=trust_all)
        if simultaneous:
            reach = _largest_quantile(cov, alpha)
        widths = reach * np.sqrt(np.diag(cov))
        return np.column_stack([self.params - widths, self.params + widths])

    def t_test(self, r_matrix: Any, q: Any = 0.0) -> Contrast:
        """Estimate and test combinations of coefficients, each by itself.

        Parameters
        ----------
        r_matrix : str or array-like of shape (p,) or (q, p)
            Name of a coefficient, or weights of the combinations.
        q : float or array-like of shape (q,), default=0.0
            Values that they are compared with.

        Returns
        -------
        Contrast
            With ``effect``, ``sd``, ``tvalue``, ``pvalue`` and ``conf_int()``.
        """
        R = self._combinations("t_test", r_matrix)
        null = np.broadcast_to(np.asarray(q, dtype=np.float64), len(R)).copy()
        return Contrast(R @ self.params, null, self._cov_of(R))

    def wald_test(self, r_matrix: Any, q: Any = 0.0) -> WaldTest:
        """Test that combinations of coefficients are all at their null.

        Parameters
        ----------
        r_matrix : str or array-like of shape (p,) or (q, p)
            Name of a coefficient, or weights of the combinations; rows are independent.
        q : float or array-like of shape (q,), default=0.0
            Values under the null.

        Returns
        -------
        WaldTest
            With ``statistic``, ``pvalue`` and ``df_denom``; NaN where a coefficient is not to be
            trusted.
        """
        test = self.t_test(r_matrix, q)
        k = len(test.effect)
        if np.isnan(test.cov).any():
            return WaldTest(np.nan, np.nan, k)
        apart = test.effect - test.null
        statistic = float(apart @ np.linalg.solve(test.cov, apart))
        return WaldTest(statistic, float(stats.chi2.sf(statistic, k)), k)

    def summary(self, alpha: float = 0.05) -> Summary:
        """Table of the coefficients, as text when printed and as HTML in a notebook.

        Parameters
        ----------
        alpha : float, default=0.05
            One minus the coverage of the intervals.
        """
        return Summary(self, alpha)

    def _combinations(self, method: str, r_matrix: Any) -> np.ndarray:
        """Weights of combinations, (q, p)."""
        p = len(self.params)
        if isinstance(r_matrix, str):
            if r_matrix not in self.names:
                raise ValueError(
                    f"Inference.{method} needs one of the names {self.names}, got {r_matrix!r}."
                )
            return np.eye(p)[[self.names.index(r_matrix)]]
        R = np.atleast_2d(np.asarray(r_matrix, dtype=np.float64))
        if R.ndim != 2 or R.shape[1] != p:
            raise ValueError(
                f"Inference.{method} needs one weight for each of {p} coefficients, intercept last,"
                f" got shape {np.shape(r_matrix)}."
            )
        return R

    def _cov_of(self, R: np.ndarray) -> np.ndarray:
        """Covariance of combinations; NaN where one takes in a coefficient that is not trusted."""
        cov = R @ self.cov_params(trust_all=True) @ R.T
        hidden = (np.abs(R[:, ~self.trusted]) > 0).any(axis=1)
        cov[hidden] = np.nan
        cov[:, hidden] = np.nan
        return cov

    def _before(self, factor: np.ndarray, shift: np.ndarray) -> Inference:
        """Inference of the features x behind ``(x - shift) * factor``."""
        d, several = factor.size, max(1, len(self.classes) - 1)
        p = len(self.params) // several
        T: np.ndarray = np.eye(p)
        T[np.arange(d), np.arange(d)] = factor
        if p > d:
            T[d, :d] = -shift * factor
        elif shift.any():
            raise ValueError(
                "inference needs a model with an intercept behind a scaler that takes off means, "
                "because its coefficients are of no model of the features as they came."
            )
        T = np.kron(np.eye(several), T)
        cov = T @ self.cov_params(trust_all=True) @ T.T
        sampling, privacy = T @ self.sampling @ T.T, T @ self.privacy @ T.T
        # An intercept that takes up what is not to be trusted is not to be trusted either.
        mixed = ((T != 0) & ~self.trusted).any(axis=1)
        loose = np.where(mixed & self.trusted, 1.0, self.loose_share)
        widening = np.sqrt(np.diag(cov) / np.diag(sampling + privacy))
        changed = {"sampling": sampling, "privacy": privacy, "widening": widening}
        return replace(self, params=T @ self.params, loose_share=loose, **changed)


@final
class Summary:
    """Table of an inference, as text when printed and as HTML in a notebook.

    Parameters
    ----------
    inference : Inference
        What it is about.
    alpha : float
        One minus the coverage of the intervals.
    """

    def __init__(self, inference: Inference, alpha: float) -> None:
        self._inference, self._alpha = inference, alpha
        _quantile("Inference.summary", alpha)

    @property
    def _head(self) -> tuple[str, ...]:
        low, high = self._alpha / 2, 1 - self._alpha / 2
        head = ("", "coef", "std err", "privacy", "z", "P>|z|", f"[{low:.3g}", f"{high:.3g}]")
        ratio = self._inference.ratio
        return head if ratio is None else (*head, ratio, head[-2], head[-1])

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        of = self._inference
        columns = (of.params, of.bse, of.noise_share, of.tvalues, of.pvalues)
        ends = of.conf_int(self._alpha)
        table = zip(of.names, *columns, *ends.T, strict=True)
        rows: list[tuple[str, ...]] = [
            (name, _number(b), _number(se), _share(noise), _z(z), _p(p), _number(lo), _number(hi))
            for name, b, se, noise, z, p, lo, hi in table
        ]
        if of.ratio is None:
            return rows
        ratios = np.exp(np.column_stack([of.params, ends]))
        return [(*row, *map(_number, found)) for row, found in zip(rows, ratios, strict=True)]

    @property
    def _notes(self) -> list[str]:
        of = self._inference
        notes = [
            "Standard errors are robust to unequal variances and include the noise of privacy; "
            "'privacy' is its share of the variance."
        ]
        if of.classes:
            notes.append(f"Coefficients of each class are against {of.classes[0]!s}.")
        told = [
            f"{what} {_share(share)} +- {_share(sd)}" for what, (share, sd) in of.clipped.items()
        ]
        notes.append(f"Shares of rows: {'; '.join(told)}.")
        share, noise = of.clipped.get("rows weighted down", (0.0, 0.0))
        if share > noise:
            notes.append(
                "Weighted down are rows beyond the bound on what one row may do. They count less, "
                "features and target together, which keeps the coefficients if the model holds, "
                "and makes intervals wider. The fewer rows there are, the more are beyond it."
            )
        notes += _cautions(of)
        if not of.trusted.all():
            notes.append(
                "nan: the coefficient hangs on directions in which noise hides how the features "
                "vary (least curvature "
                f"{of.resolution:.2g} times its noise)."
            )
        return notes

    def __str__(self) -> str:
        lines = [self._head, *self._rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self._head))]
        rule = "=" * (sum(widths) + 2 * (len(widths) - 1))
        text = [_line(line, widths) for line in lines]
        title = f"{self._inference.model}, {self._inference.nobs:,} {self._inference.counted}"
        return "\n".join(
            [title, rule, text[0], rule.replace("=", "-"), *text[1:], rule, *self._notes]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self._head)
        body = "".join(
            f"<tr><th>{escape(name)}</th>{''.join(_CELL.format(escape(c)) for c in cells)}</tr>"
            for name, *cells in self._rows
        )
        found = self._inference
        title = escape(f"{found.model}, {found.nobs:,} {found.counted}")
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes)
        return (
            f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{notes}"
        )


class NoInference:
    """``inference_`` of a model whose fit has left none: an error that says why.

    A fit that knows the covariance of its coefficients puts its inference in the place of this.
    """

    def __get__(self, model: Any, owner: type) -> Any:
        """Refuse, naming the solver; the class itself gets this object."""
        if model is None:
            return self
        name = owner.__name__
        if not issubclass(owner, WithInference):
            raise AttributeError(
                f"{name} has no inference_, because the errors of its coefficients are not known. "
                f"Those of {_WHO_INFERS} are, with solver='one_step'."
            )
        if not hasattr(model, "coef_"):
            raise NotFittedError(
                f"{name} has no inference_ before it is fitted. Fit it with solver='one_step'."
            )
        used = type(model.plan_.solver).__name__ if hasattr(model, "plan_") else "another solver"
        raise AttributeError(
            f"{name} needs solver='one_step' for inference_, got a model fitted by {used}, whose "
            "error is not known. Fit it again, out of a budget of its own, with solver='one_step'."
        )


class WithInference:
    """A model whose fit by ``'one_step'`` says how certain its coefficients are.

    Attributes
    ----------
    inference_ : Inference
        Standard errors, intervals and tests of the coefficients, with ``solver='one_step'`` only;
        see :class:`skdp.Inference`. After ``partial_fit`` those of the latest call's rows, as the
        coefficients of this solver are.
    """

    inference_: Any

    def summary(self, alpha: float = 0.05) -> Summary:
        """Table of coefficients with intervals, and of hazard ratios; see ``inference_``.

        Parameters
        ----------
        alpha : float, default=0.05
            One minus the coverage of the intervals.
        """
        found: Inference = self.inference_
        return found.summary(alpha)


def inference(model: Any) -> Inference:
    """Inference of a fitted model, or of a pipeline in the units of what goes into it.

    Coefficients of a model behind scalers are about scaled features; these are about the features
    as they came. Scales that were learned privately are released numbers, so nothing is added for
    them. Values that a scaler clips count as its bounds: that is what the model is about.

    Parameters
    ----------
    model : estimator or Pipeline
        A model fitted with ``solver='one_step'``, or a pipeline of skdp's scalers and such a model.

    Returns
    -------
    Inference
        Of the model's coefficients in the units of the first step.

    Raises
    ------
    ValueError
        If a step of the pipeline is not a scaler of skdp, and so not known to be affine.
    """
    if not isinstance(model, Pipeline):
        if not isinstance(model, WithInference):
            raise ValueError(
                f"inference needs {_WHO_INFERS} with solver='one_step', or a pipeline that ends in "
                f"one, got {type(model).__name__}."
            )
        # Of what is none of these, scikit-learn would quote the value, which may be rows.
        check_is_fitted(model)
        found: Inference = model.inference_
        return found
    steps = [(name, step) for name, step in model.steps if step not in (None, "passthrough")]
    for name, step in steps[:-1]:
        if not isinstance(step, Scaler):
            raise ValueError(
                "inference needs a pipeline of scalers of skdp.preprocessing and a model, got the "
                f"step {name!r}, a {type(step).__name__}, behind which coefficients are not those "
                "of the features as they came. Ask for the inference_ of the last step instead."
            )
    found = inference(steps[-1][1])
    for _, step in reversed(steps[:-1]):
        scaling = step._map(step.n_features_in_)
        shift = np.zeros_like(scaling.factor) if scaling.shift is None else scaling.shift
        found = found._before(scaling.factor, shift)
    if len(steps) > 1:
        first = getattr(steps[0][1], "feature_names_in_", None)
        d = steps[0][1].n_features_in_
        names = [f"x{j}" for j in range(d)] if first is None else list(map(str, first))
        found = replace(found, names=_names(names, len(found.params), found.classes))
    return found


def published_inference(
    model: Any, problem: Problem, solution: Solution, counted: str
) -> Inference:
    """Inference of a released solution, in the user's units, with warnings where it says little.

    Parameters
    ----------
    model : estimator
        Whose it is; only names of features are read.
    problem : Problem
        That was solved.
    solution : Solution
        With its uncertainty.
    counted : str
        What the problem's number of samples counts, in the plural.
    """
    of, d, target = solution.uncertainty, problem.n_features, problem.bounds.target
    assert of is not None
    coef, intercept = problem.in_user_coordinates(np.eye(problem.n_rows))
    T = np.vstack([coef, intercept]) if problem.n_rows > d else coef
    classes: tuple[Any, ...] = ()
    if problem.loss.of_times:
        # The intercept belongs to the baseline.
        T = T[:d]
    if target is not None:
        T = target.half_width * T
    if problem.loss.n_scores > 1:
        classes = tuple(model.classes_.tolist())
        against = np.eye(len(classes))[1:] - np.eye(len(classes))[0]
        T = np.einsum("ij,ac->aijc", T, against).reshape(-1, problem.n_parameters)
    params = T @ solution.w.ravel()
    if target is not None and params.size > d:
        params[d] += target.centre
    sampling, privacy = T @ of.sampling @ T.T, T @ of.noise @ T.T
    widening = np.ones(params.size)
    if of.drawn is not None:
        drawn = np.einsum("ij,jk,ik->i", T, of.drawn, T)
        widening = np.sqrt(np.maximum(1.0, drawn / np.diag(sampling + privacy)))
    loose, firm = (np.sum((T @ part) ** 2, axis=1) for part in (of.loose, of.firm))
    features = getattr(model, "feature_names_in_", None)
    names = [f"x{j}" for j in range(d)] if features is None else list(map(str, features))
    found = Inference(
        names=_names(names, params.size, classes),
        params=params,
        nobs=problem.n_samples,
        sampling=sampling,
        privacy=privacy,
        widening=widening,
        loose_share=loose / (loose + firm),
        resolution=of.resolution,
        last_step=of.last_step,
        clipped=dict(of.shares),
        model=type(model).__name__,
        classes=classes,
        counted=counted,
        ratio="hazard ratio" if problem.loss.of_times else None,
    )
    who, hidden = type(model).__name__, int(np.sum(~found.trusted))
    if hidden:
        cap = ", a smaller cap as target_bounds" if problem.loss.log_means else ""
        warn_user(
            f"{who} has no standard errors to be trusted for {hidden} of {params.size} "
            "coefficients, because noise hides how some features vary beside the others; they are "
            "NaN in inference_. Use fewer or less correlated features (of the indicators of a "
            f"column one less, as they add up to the intercept){cap}, or more budget.",
            UnresolvedWarning,
        )
    for caution in _cautions(found):
        warn_user(f"{who}: {caution}", UnresolvedWarning)
    return found


def _names(features: list[str], size: int, classes: tuple[Any, ...]) -> tuple[str, ...]:
    """Names of as many coefficients, those of each class against the first one after another."""
    constant = size > len(features) * max(1, len(classes) - 1)
    names = [*features, *(["const"] * constant)]
    if not classes:
        return tuple(names)
    return tuple(f"{label}: {name}" for label in classes[1:] for name in names)


def _cautions(of: Inference) -> list[str]:
    """Sentences about what intervals do not cover, by released numbers alone."""
    cautions = []
    share, sd = of.clipped.get("targets clipped", (0.0, 0.0))
    if share > 4 * sd and share * sqrt(of.nobs) > tuned.MUCH_CLIPPED:
        cautions.append(
            f"targets clipped: {share:.1%} +- {sd:.1%} of the rows are beyond target_bounds, so "
            "that the bias may exceed the standard errors. Give wider target_bounds."
        )
    if of.last_step > tuned.LONG_STEP and "targets clipped" not in of.clipped:
        cautions.append(
            f"the last step was long ({of.last_step:.2f} for each coefficient in white "
            f"coordinates; {tuned.LONG_STEP} is short), so that intervals may miss. Use more rows "
            "or budget."
        )
    return cautions


def _quantile(who: str, alpha: float) -> float:
    check_numbers(who, alpha=alpha)
    if not 0 < alpha < 1:
        raise ValueError(f"{who} needs alpha in (0, 1), got {alpha}.")
    return float(stats.norm.isf(alpha / 2))


def _largest_quantile(cov: np.ndarray, alpha: float) -> float:
    """Quantile of the largest size of z values that are correlated like this; NaN left out."""
    kept = np.isfinite(np.diag(cov))
    if not kept.any():
        return np.nan
    cov = cov[np.ix_(kept, kept)]
    sd = np.sqrt(np.diag(cov))
    values, vectors = np.linalg.eigh(cov / np.outer(sd, sd))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normals = np.random.default_rng(0).standard_normal((_SIMULATIONS, len(sd)))
    return float(np.quantile(np.abs(normals @ root.T).max(axis=1), 1 - alpha))


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    name, *others = cells
    padded = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
    return "  ".join([name.ljust(widths[0]), *padded])


def _number(value: float) -> str:
    return f"{value:.4g}"


def _share(value: float) -> str:
    return "nan" if np.isnan(value) else f"{value:.1%}"


def _z(value: float) -> str:
    return f"{value:.2f}"


def _p(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}"
