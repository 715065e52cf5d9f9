"""Private frequent categories of columns, all of them from one release."""

from __future__ import annotations

from ..exceptions import warn_user
from ..privacy.accounting.calculus import ThresholdedGaussianDP
from ..privacy.accounting.ledger import Spend
from ..privacy.oracle import CategoryCounts, Oracle
from ..privacy.oracle_factory import PrivacyTerms
from ..privacy.queries.categories import CategoryCountsQuery

# Of delta, for the threshold. A tenth as much raises the threshold by 7 %; ten times as much costs
# the Gaussian releases beside it half a percent of their noise.
_SHARE_OF_DELTA = 0.01
# A threshold of more than this share of the rows leaves the commonest categories, if any.
_RARE = 0.25


def calculus_of_categories(delta: float) -> ThresholdedGaussianDP:
    """The calculus of a ledger that pays for a search for categories.

    Parameters
    ----------
    delta : float
        Slack of the ledger, a hundredth of which is set aside for the threshold.
    """
    return ThresholdedGaussianDP(_SHARE_OF_DELTA * delta)


def private_column_categories(
    oracle: Oracle, columns: tuple[int, ...], delta: float
) -> CategoryCounts:
    """Categories of columns whose noisy counts exceed a threshold, for the whole budget.

    Parameters
    ----------
    oracle : Oracle
        Asked once.
    columns : tuple of int
        Columns that are asked about, at least one.
    delta : float
        Slack of its ledger, which was opened with :func:`calculus_of_categories`.
    """
    oracle.note("frequent categories")
    threshold_delta = calculus_of_categories(delta).threshold_delta
    return oracle.category_counts(
        columns, threshold_delta=threshold_delta, spend=oracle.budget.whole()
    )


def check_rows_for_categories(
    who: str, columns: tuple[int, ...], n_samples: int, terms: PrivacyTerms, instead: str
) -> None:
    """Refuse a search that can find nothing, and warn of one that will find little.

    Parameters
    ----------
    who : str
        Who searches.
    columns : tuple of int
        Columns that are asked about.
    n_samples : int
        Public number of rows, or of privacy units.
    terms : PrivacyTerms
        Terms on which they are asked.
    instead : str
        Sentence on what to pass if categories are known.

    Raises
    ------
    ValueError
        If the threshold is beyond the number of rows.

    Warns
    -----
    UserWarning
        If it is beyond a quarter of them.
    """
    ledger = terms.ledger()
    if not columns or ledger.exact:
        return
    query = CategoryCountsQuery(columns, calculus_of_categories(terms.delta).threshold_delta)
    threshold = query.mechanism(terms.adjacency, Spend(ledger.remaining)).threshold
    found = (
        f"{who} finds categories of more than about {threshold:.0f} rows with this budget for "
        f"{len(columns)} column(s)"
    )
    if threshold >= n_samples:
        raise ValueError(f"{found}, and here n_samples={n_samples}. {instead}")
    if threshold > _RARE * n_samples:
        warn_user(f"{found}, of {n_samples}. {instead}", UserWarning)
