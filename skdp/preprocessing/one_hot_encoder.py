"""Categories as columns of zeros and ones, of which the frequent ones are found privately."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, final

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ..exceptions import warn_user
from ..privacy.accounting.calculus import Calculus, GaussianDP, PureDP
from ..privacy.oracle import Oracle
from ..privacy.oracle_factory import PrivacyTerms
from ..privacy.rows.base import RowStore
from ..privacy.rows.bounded_rows import Rows
from ..privacy.rows.category_rows import (
    MISSING,
    Category,
    CategoryRows,
    category_of,
    coded_categories,
    value_of,
)
from ..privacy.rows.privacy_units import PrivacyUnits
from ..privacy.rows.reading import attempted, redacted, strict_checks
from ..validation import ENCODERS, keep_parameters, one_of, shown, with_advice
from .base import PrivateTransformer
from .column_categories import (
    N_BUCKETS,
    bucket_of,
    calculus_of_categories,
    hidden_threshold,
    private_column_categories,
    warn_of_hidden_categories,
)

_INFREQUENT = "infrequent_sklearn"


@final
class DPOneHotEncoder(PrivateTransformer):
    r"""Encode categories as columns of zeros and ones, the frequent ones found privately.

    All columns whose categories are not given are counted in one release. With c of them each row
    is in one category of each, so that counts move by at most ``sqrt(2 c)`` under replace-one.
    Categories whose noisy counts exceed

    .. math:: \tau = 1 + \sigma\, \Phi^{-1}\bigl((1 - \delta_t)^{1/c}\bigr), \qquad
              \sigma = \sqrt{2 c} / \mu

    are published, where :math:`\delta_t` is a hundredth of delta. All others share one column and
    are called infrequent, as in scikit-learn; so are categories that come up later.

    Where the threshold is beyond the number of rows, or delta is 0, nothing is spent: such columns
    are hashed into 8 public buckets each, and the fit warns before rows are read.

    Parameters
    ----------
    delta : float, optional
        Slack, the smaller of 1e-5 and n^-1.1 for n rows by default. A hundredth of it is for the
        threshold. 0 for columns that are given or hashed, of which nothing is asked.
    categories : 'auto', list or dict, default='auto'
        Categories that are known without the data: a list with an entry for each column, or a
        dictionary by column name. An entry is a list of categories, or None or ``'auto'`` if they
        are to be found; columns that a dictionary does not name are found. Nothing is spent on
        columns that are given, and nothing at all if all are. The categories of a pandas
        ``Categorical`` are not taken, since they usually come from the rows.
    handle_unknown : {'infrequent_if_exist', 'ignore'}, default='infrequent_if_exist'
        What becomes of a category that was neither found nor given: the column of infrequent
        categories, which every column has whose categories were found, or zeros. Those of columns
        that were given are zeros.
    min_frequency : int or float, optional
        Noisy count, or share of the rows, below which categories are infrequent, if that is above
        the threshold.
    max_categories : int, optional
        Largest number of columns for each feature that is found, the infrequent one included; the
        most frequent categories stay. Of buckets there are no more either.
    sparse_output : bool, default=False
        Whether the result is a CSR matrix. Beside dense columns a ``ColumnTransformer`` would make
        it dense or not by the share of zeros, which depends on the rows.
    dtype : number type, default=float
        Type of the result.

    Attributes
    ----------
    categories_ : list of ndarray
        Categories of each column, given or found, without the infrequent ones. Numbers come before
        texts, and NaN stands for what is missing, last. Whole numbers are integers. Names of
        buckets, ``bucket_00`` and so on, of columns that are hashed.
    counts_ : list of (ndarray or None)
        Noisy counts of the categories that were found; of people where rows are theirs. None for
        columns that were given or are hashed.
    hashed_ : ndarray of bool, shape (`n_features_in_`,)
        Whether a column is hashed, which the parameters and the number of rows decide.
    threshold_ : float or None
        The threshold; None if no categories were searched for.
    noise_scale_ : float or None
        Standard deviation of the noise on a count; likewise.
    n_samples_seen_ : int
        Number of rows, or of privacy units.

    See Also
    --------
    sklearn.preprocessing.OneHotEncoder : Free of privacy loss if all categories are listed.

    Notes
    -----
    With ``privacy_unit`` each person counts in one category of each column: that of most of the
    person's rows. Without it, a category that several rows of one person have may be published.

    The bucket of a category is the first 64 bits, as a big-endian number, of the BLAKE2b digest (8
    bytes, no key) of its kind and value, modulo the number of buckets: the same in every process
    and on every machine, in columns of integers and of floats. Kinds are 0 for truth values, 1 for
    numbers, 2 for texts in UTF-8, 3 for bytes and 4 for what is missing, each before a colon, as in
    ``2:Bern`` and ``1:0x1f``; numbers are in Python's hexadecimal form. It needs no row, so it is
    free, and whoever can list the categories knows which of them share a bucket.

    The threshold decides what is published, so the release is not Gaussian: it adds its
    :math:`\delta_t` to the delta of whatever it is composed with, and receipts say so. Proof:
    theorem T1 of ``docs/proofs/histograms_and_counts.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPOneHotEncoder
    >>> rng = np.random.default_rng(0)
    >>> towns = rng.choice(["Bern", "Chur", "Thun", "Wil"], p=[0.5, 0.3, 0.199, 0.001], size=5000)
    >>> encoder = DPOneHotEncoder(epsilon=0.5).fit(towns.reshape(-1, 1))
    >>> encoder.get_feature_names_out(["town"])
    array(['town_Bern', 'town_Chur', 'town_Thun', 'town_infrequent_sklearn'],
          dtype=object)
    >>> encoder.transform([["Chur"], ["Wil"]])
    array([[0., 1., 0., 0.],
           [0., 0., 0., 1.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateTransformer._parameter_constraints,
        "delta": [None, Interval(Real, 0, 1, closed="left")],
        "categories": [one_of("auto"), None, list, dict],
        "handle_unknown": [one_of("infrequent_if_exist", "ignore")],
        "min_frequency": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "max_categories": [None, Interval(Integral, 1, None, closed="left")],
        "sparse_output": ["boolean"],
        "dtype": [object],
    }

    _sparse = False

    categories: Any
    handle_unknown: str
    min_frequency: float | None
    max_categories: int | None
    sparse_output: bool
    dtype: Any

    categories_: list[np.ndarray]
    counts_: list[np.ndarray | None]
    hashed_: np.ndarray
    threshold_: float | None
    noise_scale_: float | None

    @with_advice(ENCODERS)
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        categories: Any = "auto",
        handle_unknown: str = "infrequent_if_exist",
        min_frequency: float | None = None,
        max_categories: int | None = None,
        sparse_output: bool = False,
        dtype: Any = np.float64,
        adjacency: str = "replace_one",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of the result.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the features; by default those that ``fit`` has seen, or x0, x1 and so on.

        Returns
        -------
        ndarray of str objects
            Name and category, joined by an underscore.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array(
            [
                f"{name}_{category}"
                for name, found, more in zip(names, self.categories_, self._others, strict=True)
                for category in [*found.tolist(), *([_INFREQUENT] * more)]
            ],
            dtype=object,
        )

    @strict_checks()
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Bring encoded rows back to categories.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_encoded_features)
            Encoded rows.

        Returns
        -------
        ndarray of object, shape (n_samples, n_features)
            Categories; 'infrequent_sklearn' for those that share that column, names of buckets of
            columns that are hashed, and None where all columns of a feature are zero.
        """
        check_is_fitted(self)
        X = redacted(check_array, X, accept_sparse="csr")
        dense = X.toarray() if sp.issparse(X) else X
        ends = np.cumsum([0, *self._widths])
        if dense.shape[1] != ends[-1]:
            raise ValueError(
                f"DPOneHotEncoder needs encoded rows of {ends[-1]} columns, got {dense.shape}."
            )
        out = np.full((len(dense), len(self.categories_)), None, dtype=object)
        for j, (found, more) in enumerate(zip(self.categories_, self._others, strict=True)):
            part = dense[:, ends[j] : ends[j + 1]]
            if part.shape[1]:
                names = np.array([*found.tolist(), *([_INFREQUENT] * more)], dtype=object)
                some = part.any(axis=1)
                out[some, j] = names[part.argmax(axis=1)[some]]
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _always_dense(self) -> bool:
        return not self.sparse_output

    def _calculus(self, delta: float) -> Calculus:
        listed = isinstance(self.categories, list) and all(
            _listed(j, entry) is not None for j, entry in enumerate(self.categories)
        )
        if not delta:
            return PureDP()
        return GaussianDP() if listed else calculus_of_categories(delta)

    def _checked(self, X: Any, *, reset: bool, copy: bool = False) -> list[np.ndarray]:
        del copy
        return self._checked_table(X, reset=reset)

    def _stored(self, checked: Any, y: Any, units: PrivacyUnits | None) -> RowStore:
        del y
        return CategoryRows(checked, units)

    def _settle(self) -> None:
        self._given()

    def _given(self) -> list[list[Category] | None]:
        """Categories that the parameter gives for each column, None for those to be found."""
        d, given = self.n_features_in_, self.categories
        if given is None or isinstance(given, str):
            return [None] * d
        if isinstance(given, Mapping):
            names = [*getattr(self, "feature_names_in_", range(d))]
            unknown = [name for name in given if name not in names]
            if unknown:
                raise ValueError(
                    "DPOneHotEncoder needs categories of columns that X has, got those of "
                    f"{', '.join(map(shown, unknown))}."
                )
            given = [given.get(name) for name in names]
        if len(given) != d:
            raise ValueError(
                f"DPOneHotEncoder needs categories with an entry for each of {d} columns, got "
                f"{len(given)}; an entry is a list, or None if its categories are to be found."
            )
        return [_listed(j, entry) for j, entry in enumerate(given)]

    @property
    def _to_find(self) -> tuple[int, ...]:
        return tuple(j for j, known in enumerate(self._given()) if known is None)

    def _foresee(self, n_samples: int, terms: PrivacyTerms) -> None:
        columns = self._to_find
        hashed = (
            f"Hashed into {self._n_buckets} public buckets each, which spends nothing and cannot "
            f"be read, are {', '.join(map(self._name, columns))}."
        )
        instead = "Pass categories=[...] if they are known, or a larger epsilon, or more rows."
        who = type(self).__name__
        warn_of_hidden_categories(who, columns, n_samples, terms, fallback=hashed, instead=instead)

    def _learn(self, oracle: Oracle, n_samples: int) -> None:
        columns, given = self._to_find, self._given()
        self.threshold_ = self.noise_scale_ = None
        self.counts_ = [None] * len(given)
        self.hashed_ = np.zeros(len(given), dtype=bool)
        chosen = [[] if known is None else known for known in given]
        if self._hashes(len(columns), n_samples):
            self.hashed_[[*columns]] = True
            for j in columns:
                chosen[j] = [category_of(f"bucket_{k:02d}") for k in range(self._n_buckets)]
        elif columns:
            answer = private_column_categories(oracle, columns, self.delta_)
            self.threshold_, self.noise_scale_ = answer.threshold, answer.scale
            for j in columns:
                chosen[j], self.counts_[j] = self._kept(answer.counts[j], n_samples)
        self.categories_ = [_as_array(categories) for categories in chosen]
        if none := [self._name(j) for j in columns if not chosen[j]]:
            warn_user(
                "DPOneHotEncoder found no category that is frequent enough to be seen in "
                f"{', '.join(none)}: all rows are in one column there. Pass categories=[...] if "
                "they are known, or leave these columns out.",
                UserWarning,
            )

    def _hashes(self, n_columns: int, n_samples: int) -> bool:
        """Tell whether columns without a list are hashed: if there are so many, in so many rows."""
        terms = self._terms(n_samples)
        return hidden_threshold(tuple(range(n_columns)), n_samples, terms) is not None

    @property
    def _n_buckets(self) -> int:
        return min(N_BUCKETS, self.max_categories or N_BUCKETS)

    def _kept(
        self, counts: Mapping[Category, float], n_samples: int
    ) -> tuple[list[Category], np.ndarray]:
        """Categories that stay, and their noisy counts."""
        least = self.min_frequency or 0
        # A share is less than 1.
        least *= n_samples if least < 1 else 1
        found = [(category, count) for category, count in counts.items() if count >= least]
        if self.max_categories is not None:
            most = self.max_categories - (self.handle_unknown == "infrequent_if_exist")
            largest = sorted(found, key=lambda one: -one[1])[:most]
            found = [one for one in found if one in largest]
        return [category for category, _ in found], np.array([count for _, count in found])

    @property
    def _rules_taken(self) -> list[str]:
        """Sentences about columns that are hashed, for reports."""
        columns = map(self._name, np.flatnonzero(self.hashed_).tolist())
        why = "its categories could not be found"
        return [f"{name}: hashed into {self._n_buckets} public buckets ({why})" for name in columns]

    @property
    def _others(self) -> list[bool]:
        """Tell of each column whether one for its infrequent categories comes out of it."""
        infrequent = self.handle_unknown == "infrequent_if_exist"
        return [counts is not None and infrequent for counts in self.counts_]

    @property
    def _widths(self) -> list[int]:
        return [
            len(found) + more for found, more in zip(self.categories_, self._others, strict=True)
        ]

    def _applied(self, X: Any) -> Rows:
        places = np.empty((X[0].size, len(X)), dtype=np.intp)
        first = np.cumsum([0, *self._widths])
        for j, (column, found, more) in enumerate(
            zip(X, self.categories_, self._others, strict=True)
        ):
            categories, codes = coded_categories(column)
            if self.hashed_[j]:
                among = [bucket_of(category, len(found)) for category in categories]
            else:
                place = {category_of(value): k for k, value in enumerate(found.tolist())}
                # Below zero, whatever the first column is: in none.
                other = len(found) if more else -1 - first[j]
                among = [place.get(category, other) for category in categories]
            places[:, j] = first[j] + np.array(among, dtype=np.intp)[codes]
        coded = places >= 0
        shape = len(places), int(first[-1])
        if not self.sparse_output:
            out = np.zeros(shape, dtype=self.dtype)
            out[np.nonzero(coded)[0], places[coded]] = 1
            return out
        ends = np.append(0, np.cumsum(coded.sum(axis=1)))
        ones = np.ones(int(ends[-1]), dtype=self.dtype)
        return sp.csr_matrix((ones, places[coded], ends), shape=shape)


def _listed(j: int, entry: Any) -> list[Category] | None:
    """Categories as a parameter lists them for a column."""
    if entry is None or (isinstance(entry, str) and entry == "auto"):
        return None
    if isinstance(entry, str) or not isinstance(entry, list | tuple | np.ndarray):
        raise ValueError(
            f"DPOneHotEncoder needs a list of categories, None or 'auto' for column {j}, got "
            f"{shown(entry)}."
        )
    found = attempted(lambda: [category_of(value) for value in entry])
    if found is None:
        raise ValueError(
            f"DPOneHotEncoder needs categories that are numbers or texts for column {j}, got "
            f"{shown(entry)}."
        )
    if len(set(found)) < len(found):
        raise ValueError(f"DPOneHotEncoder needs different categories for column {j}.")
    return found


def _as_array(categories: list[Category]) -> np.ndarray:
    """Categories as an array, of numbers if all of them are, or are missing."""
    values = [value_of(category) for category in categories]
    kinds = {type(value) for c, value in zip(categories, values, strict=True) if c != MISSING}
    if values and (kinds <= {int, float} or kinds == {bool}):
        try:
            found = np.array(values)
            if MISSING not in categories or kinds != {bool}:
                return found
        except OverflowError:
            pass
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
