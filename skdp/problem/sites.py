"""Assignment of rows to sites: public, because it depends on no value of a row."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Sites:
    """A partition of the rows of a fit among sites that hold them.

    Neighbouring data sets have the same sites with the same numbers of rows; a row is replaced by
    another row of the same site. So sizes and labels are public.

    Parameters
    ----------
    labels : tuple
        Name of each site, all different.
    sizes : ndarray of shape (n_sites,)
        Number of rows of each site, at least 1.
    order : ndarray of shape (n_samples,), optional
        Positions of the rows, those of the first site first, then those of the second, and so on.
        None says that they lie in this order.
    of_units : bool, default=False
        Whether sizes are numbers of privacy units, each of whom has rows at one site alone; how
        many rows sites have is secret then.

    Raises
    ------
    ValueError
        If there is no site, labels repeat, a site has no row, or the order is not one of all rows.
    """

    labels: tuple[Hashable, ...]
    sizes: np.ndarray
    order: np.ndarray | None = field(default=None, repr=False)
    of_units: bool = False

    def __post_init__(self) -> None:
        sizes = np.array(self.sizes, dtype=np.intp)
        object.__setattr__(self, "sizes", sizes)
        n_sites = len(self.labels)
        if n_sites < 1 or sizes.shape != (n_sites,) or sizes.min() < 1:
            raise ValueError(
                "Sites needs at least one site, and a size of at least 1 for each, got "
                f"{n_sites} labels and sizes of shape {sizes.shape}."
            )
        if len(set(self.labels)) != n_sites:
            raise ValueError("Sites needs labels that are all different; merge sites of one name.")
        if self.order is not None:
            order = np.array(self.order, dtype=np.intp)
            object.__setattr__(self, "order", order)
            n = self.n_samples
            if order.shape != (n,) or not np.array_equal(np.sort(order), np.arange(n)):
                raise ValueError(
                    f"Sites needs an order of all {n} rows, each once, got one of shape "
                    f"{order.shape}."
                )

    @classmethod
    def of_labels(cls, of_rows: Sequence[Hashable] | np.ndarray) -> Sites:
        """The sites named by the label of each row, in sorted order of the labels.

        Parameters
        ----------
        of_rows : array-like of shape (n_samples,)
            Label of the site of each row.

        Raises
        ------
        ValueError
            If the labels are not one for each row, or cannot be sorted.
        """
        try:
            given = np.asarray(of_rows)
            labels, of_row, sizes = np.unique(given, return_inverse=True, return_counts=True)
            usable = given.ndim == 1 and given.size > 0 and bool(np.all(labels == labels))
        except MemoryError:
            raise
        except Exception:
            usable = False
        # Raised here and not on the way, where it would carry an error that quotes a label.
        if not usable:
            raise ValueError(
                "Sites needs one label a row, numbers or strings that can be sorted and none of "
                "them missing."
            )
        order = np.argsort(of_row, kind="stable")
        in_order = np.array_equal(order, np.arange(order.size))
        return cls(tuple(labels.tolist()), sizes, None if in_order else order)

    @classmethod
    def equal(cls, n_samples: int, n_sites: int, public_rng: np.random.Generator) -> Sites:
        """Sites of nearly equal size, rows assigned by public randomness.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        n_sites : int
            Number of sites, between 1 and ``n_samples``.
        public_rng : Generator
            Public randomness.
        """
        sizes = np.full(n_sites, n_samples // n_sites)
        sizes[: n_samples % n_sites] += 1
        return cls(tuple(range(n_sites)), sizes, public_rng.permutation(n_samples))

    @property
    def n_sites(self) -> int:
        """Number of sites."""
        return len(self.labels)

    @property
    def n_samples(self) -> int:
        """Number of rows of all sites."""
        return int(self.sizes.sum())

    def of_rows(self) -> np.ndarray:
        """The number of the site of each row as the rows lie, shape (n_samples,)."""
        sorted_sites = np.repeat(np.arange(self.n_sites), self.sizes)
        if self.order is None:
            return sorted_sites
        out = np.empty_like(sorted_sites)
        out[self.order] = sorted_sites
        return out
