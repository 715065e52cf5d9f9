"""The rows of a fit that lie at sites on workers, which can be asked for noisy messages only."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, NoReturn, final
from uuid import uuid4

import numpy as np

from ...problem.bounds import RowBounds
from ...problem.sites import Sites
from ..adjacency import Adjacency, PrivacyUnit
from ..queries.site_gradients import SiteRequest
from ..rows.base import BoundedRows, RowStore
from ..rows.bounded_rows import RawBlock
from ..rows.partition import Facts
from ..rows.partitions import packed
from .actors import Actors
from .site import Request


class Message(NamedTuple):
    """A message that has left a site, and where it was asked; all of it is private already.

    Parameters
    ----------
    site : hashable
        Label of the site.
    round : int
        Number of the round, from 1.
    w : ndarray
        Where the site was asked for its mean gradient.
    vector : ndarray
        What it has answered: that gradient with the site's own noise.
    """

    site: Hashable
    round: int
    w: np.ndarray
    vector: np.ndarray


@final
class RemoteRows(RowStore):
    """Rows at sites, as a fit sees them: how many there are, and how to ask for messages.

    Where all sites have labels of privacy units, they count these, and each is taken to have rows
    at one site alone.

    Parameters
    ----------
    actors : Actors
        The sites.
    encode : callable
        Turns the targets (m,) of a site into encoded targets (m,). It is sent to the sites.
    epsilon, delta : float
        What the fit is going to spend at most.
    adjacency : Adjacency
        Neighbouring relation.
    heard : callable, optional
        Called with each :class:`Message`.

    Attributes
    ----------
    sites : Sites
        Labels and numbers of rows, or of privacy units.
    feature_names : list of str or None
        Column names, if there are any and they are strings.
    dtype : dtype
        float32 if all sites have it, else float64.

    Raises
    ------
    ValueError
        If rows or targets of a site are malformed, or sites differ in their features, or in
        whether they have labels of privacy units.
    BudgetExceededError
        If a site has not as much left.
    RuntimeError
        If a site fails for other reasons, or is lost.

    Guarantees
    ----------
    - No row, and no exact sum over rows, is ever in this process; ``sum`` and ``bounded`` refuse.
    """

    def __init__(
        self,
        actors: Actors,
        encode: Callable[[np.ndarray], np.ndarray],
        epsilon: float,
        delta: float,
        adjacency: Adjacency,
        heard: Callable[[Message], None] | None = None,
    ) -> None:
        self._actors, self._heard = actors, heard
        self._fit, self._number = uuid4().hex, 0
        arguments = (self._fit, _pieces(encode), epsilon, delta, adjacency)
        found: list[Facts] = actors.asked("opened", [arguments] * len(actors.labels))
        first = found[0]
        if any((f.n_features, f.names) != (first.n_features, first.names) for f in found):
            raise ValueError(
                "DaskSites needs the same features, with the same names in the same order, at "
                "every site."
            )
        self.n_features = first.n_features
        if any(f.of_units != first.of_units for f in found):
            raise ValueError(
                "DaskSites needs loaders that all return labels of privacy units, or none of them."
            )
        if first.of_units:
            self.unit = PrivacyUnit.DECLARED
        self.sparse = any(f.sparse for f in found)
        self.dtype = np.dtype(np.float32 if all(f.single for f in found) else np.float64)
        self.feature_names = None if first.names is None else list(first.names)
        self.sites = Sites(
            actors.labels, np.array([f.n_samples for f in found]), None, first.of_units
        )
        self.n_samples = self.sites.n_samples
        self._packed: tuple[Any, float | None, list[bytes]] | None = None

    def messages(self, request: SiteRequest, amounts: np.ndarray) -> np.ndarray:
        """The noisy messages of the sites that take part, (n_active, ...).

        Each may cost at most its amount, in mu^2.
        """
        self._number += 1
        content = self._content(request)
        requests = [
            Request(self._fit, self._number, content, w, amount)
            for w, amount in zip(request.W, amounts.tolist(), strict=True)
        ]
        active = request.active.tolist()
        means = self._actors.asked("answered", [(request,) for request in requests], active)
        if self._heard is not None:
            for i, w, mean in zip(active, request.W, means, strict=True):
                self._heard(Message(self._actors.labels[i], self._number, w.copy(), mean.copy()))
        # From the mean gradient of a site to its share of that of all rows, times their number.
        sizes = self.sites.sizes[request.active]
        factors = sizes * self.sites.n_sites / self.n_samples
        return np.stack(means) * factors.reshape(-1, *[1] * (request.W.ndim - 1))

    def _content(self, request: SiteRequest) -> list[bytes]:
        known = self._packed
        if known is None or known[0] is not request.problem or known[1] != request.clip_norm:
            known = (
                request.problem,
                request.clip_norm,
                _pieces((request.problem, request.clip_norm)),
            )
            self._packed = known
        return known[2]

    def sum(self, kernel: Callable[[RawBlock], np.ndarray]) -> NoReturn:
        """Refused."""
        raise _no_sums()

    def _bounded(self, bounds: RowBounds) -> BoundedRows:
        raise _no_sums()

    def __reduce__(self) -> NoReturn:
        raise TypeError("RemoteRows cannot be copied or pickled; pass its DaskSites to each fit.")


def _no_sums() -> TypeError:
    return TypeError(
        "RemoteRows needs queries that sites answer with noise of their own; exact sums of rows "
        "never leave a site. Use DDA(noise='local')."
    )


def _pieces(content: Any) -> list[bytes]:
    return [body for _, body in packed(content)]
