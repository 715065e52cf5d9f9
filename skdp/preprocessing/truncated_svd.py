"""Singular vectors of rows, found privately."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, final

from sklearn.decomposition import TruncatedSVD
from sklearn.utils._param_validation import Interval

from ..validation import keep_parameters, with_advice
from .private_components import ComponentsLearner, components_advice


@final
class DPTruncatedSVD(ComponentsLearner):
    r"""Project rows, which are not centred, on the directions in which they are longest.

    As :class:`DPPCA` without centring, so that sparse rows stay sparse until they are projected.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, `n_features_in_`)
        Directions in which rows are longest, in the units of the features.
    explained_variance_ : ndarray of shape (n_components,)
        Variances along them, no less than what noise leaves to see.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same as shares of the sum of the variances of the features.
    singular_values_ : ndarray of shape (n_components,)
        Roots of the sums of squares along the components.

    See Also
    --------
    DPPCA : With centring.

    Notes
    -----
    All second moments of the features are released, so that there may be a few thousand of them
    at most, and far fewer if noise is not to hide them. Rows have no weights here, because the
    total of weights is not public.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPTruncatedSVD
    >>> X = np.random.default_rng(0).uniform(size=(20_000, 3)) * [5, 1, 1]
    >>> svd = DPTruncatedSVD(n_components=1, bounds=(0, 5)).fit(X)
    >>> bool(svd.components_[0, 0] > 0.9), svd.transform(X).shape
    (True, (20000, 1))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ComponentsLearner._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
    }

    _centred = False
    _sparse = True
    _always_dense = True

    n_components: int

    @with_advice(
        components_advice(
            *("algorithm", "n_iter", "tol", "n_oversamples"), "power_iteration_normalizer"
        )
    )
    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: Any = None,
        adjacency: str = "replace_one",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def _number(self) -> int:
        return self.n_components

    def _plain(self) -> TruncatedSVD:
        out: TruncatedSVD = self._learned_by(TruncatedSVD(n_components=self.n_components))
        return out
