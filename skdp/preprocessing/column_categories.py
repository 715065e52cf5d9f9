"""Private frequent categories of columns, all of them from one release."""

from __future__ import annotations

from hashlib import blake2b
from math import inf, isinf

from ..exceptions import BudgetWarning, warn_user
from ..privacy.accounting.calculus import ThresholdedGaussianDP
from ..privacy.accounting.ledger import Spend
from ..privacy.oracle import CategoryCounts, Oracle
from ..privacy.oracle_factory import PrivacyTerms
from ..privacy.queries.categories import CategoryCountsQuery
from ..privacy.rows.category_rows import Category

# Of delta, for the threshold. A tenth as much raises the threshold by 7 %; ten times as much costs
# the Gaussian releases beside it half a percent of their noise.
_SHARE_OF_DELTA = 0.01
# A threshold of more than this share of the rows leaves the commonest categories, if any. They are
# worth finding all the same: hashed columns bring more noise than they tell.
_RARE = 0.25
# Buckets of a column whose categories cannot be found. On adult and lending_club, with rows too few
# to find any, 32 lose .03 to .09 of the area under the curve; on 20,000 of adult they win .001.
N_BUCKETS = 8


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


def bucket_of(category: Category, n_buckets: int) -> int:
    """Bucket of a category by a fixed hash without a key, the same everywhere and for ever.

    Parameters
    ----------
    category : Category
        Kind and value; numbers are the same whatever the type of their column.
    n_buckets : int
        Number of buckets.
    """
    kind, value = category
    if isinstance(value, float):
        value = value.hex()
    elif isinstance(value, int):
        # Of hexadecimal digits there may be any number.
        value = hex(value)
    # Characters that are no characters are texts all the same.
    text = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    digest = blake2b(b"%d:%b" % (kind, text), digest_size=8).digest()
    return int.from_bytes(digest, "big") % n_buckets


def hidden_threshold(
    columns: tuple[int, ...], n_samples: int, terms: PrivacyTerms, share: float = 1.0
) -> float | None:
    """Threshold of a search that a category with this share of the rows would not reach; else None.

    Infinite without a delta that could pay for one.

    Parameters
    ----------
    columns : tuple of int
        Columns that are asked about.
    n_samples : int
        Public number of rows, or of privacy units.
    terms : PrivacyTerms
        Terms on which they are asked.
    share : float, optional
        By default all rows, so that nothing can be found.
    """
    if not columns:
        return None
    if not terms.delta:
        return inf
    ledger = terms.ledger()
    if ledger.exact:
        return None
    query = CategoryCountsQuery(columns, calculus_of_categories(terms.delta).threshold_delta)
    threshold = query.mechanism(terms.adjacency, Spend(ledger.remaining)).threshold
    return threshold if threshold >= share * n_samples else None


def warn_of_hidden_categories(
    who: str,
    columns: tuple[int, ...],
    n_samples: int,
    terms: PrivacyTerms,
    *,
    fallback: str,
    instead: str,
) -> None:
    """Warn of a search for categories that finds little, or that is left out.

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
    fallback : str
        Sentence on what is done if nothing can be found.
    instead : str
        Sentence on what to pass.
    """
    threshold = hidden_threshold(columns, n_samples, terms, share=_RARE)
    if threshold is None:
        return
    found = (
        f"finds categories of more than about {threshold:.0f} rows with this budget for "
        f"{len(columns)} column(s), and here n_samples={n_samples}"
    )
    if isinf(threshold):
        found = "needs delta > 0 to find categories, and here delta=0"
    fallback = f"{fallback} " if threshold >= n_samples else ""
    warn_user(f"{who} {found}. {fallback}{instead}", BudgetWarning)
