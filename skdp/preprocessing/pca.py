"""Principal components of rows, found privately."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np
from sklearn.decomposition import PCA
from sklearn.utils._param_validation import Interval

from ..validation import keep_parameters, with_advice
from .private_components import ComponentsLearner, components_advice


@final
class DPPCA(ComponentsLearner):
    r"""Project rows on their principal components, which follow from private second moments.

    Columns are brought to mean 0 and variance 1 by private moments, rows are held to a length R
    that about 95 % of them have, by a private histogram, and then their second moments are
    released. Under replace-one these move by at most ``sqrt(2) R^2 / n``; R is about ``sqrt(d)``
    for d features, so that directions are found where n is large beside ``d^1.5 / mu``, for the mu
    of the budget.

    Parameters
    ----------
    n_components : int, optional
        Number of components; by default that of the features. A share of the variance cannot be
        asked for, because how many that takes would depend on the rows.
    whiten : bool, default=False
        Whether what comes out has variance 1 along each component.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, `n_features_in_`)
        Directions in which rows vary most, in the units of the features.
    explained_variance_ : ndarray of shape (n_components,)
        Variances along them, no less than what noise leaves to see.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same as shares of the sum of the variances of the features.
    singular_values_ : ndarray of shape (n_components,)
        Roots of the sums of squares along the components.
    mean_ : ndarray of shape (`n_features_in_`,)
        Released means of the features.
    n_components_ : int
        Number of components.
    noise_variance_ : float
        Mean variance along all other directions.

    See Also
    --------
    DPTruncatedSVD : The same without centring, also of sparse rows.

    Notes
    -----
    Components are those of the features in their units, as in scikit-learn, although noise is in
    proportion to how much each varies. Rows have no weights here, because the total of weights is
    not public.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPPCA
    >>> X = np.random.default_rng(0).normal(size=(20_000, 3)) * [5, 1, 1]
    >>> pca = DPPCA(n_components=1, bounds=(-20, 20)).fit(X)
    >>> bool(abs(pca.components_[0, 0]) > 0.99), pca.transform(X).shape
    (True, (20000, 1))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ComponentsLearner._parameter_constraints,
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "whiten": ["boolean"],
    }

    _centred = True

    n_components: int | None
    whiten: bool

    mean_: np.ndarray
    n_components_: int
    noise_variance_: float

    @with_advice(
        components_advice(
            *("svd_solver", "tol", "iterated_power", "n_oversamples"),
            "power_iteration_normalizer",
        )
    )
    def __init__(
        self,
        n_components: int | None = None,
        *,
        whiten: bool = False,
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: Any = None,
        adjacency: str = "replace_one",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def _number(self) -> int:
        return self.n_features_in_ if self.n_components is None else self.n_components

    def _publish(self, mean: np.ndarray, variance: float) -> None:
        self.mean_, self.n_components_ = mean, len(self.components_)
        others = mean.size - self.n_components_
        left = variance - float(self.explained_variance_.sum())
        self.noise_variance_ = max(left, 0.0) / max(others, 1)

    def _plain(self) -> PCA:
        plain = PCA(n_components=self.n_components, whiten=self.whiten)
        out: PCA = self._learned_by(plain, "mean_", "n_components_", "noise_variance_")
        out.n_samples_ = self.n_samples_seen_
        return out
