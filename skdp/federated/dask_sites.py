"""Sites on the workers of a dask cluster, handed to ``fit`` in place of rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from math import isinf
from typing import Any, NoReturn, Self

import numpy as np

from ..privacy.accounting.ledger import limit_of
from ..privacy.adjacency import Adjacency
from ..privacy.sites.actors import Actors
from ..privacy.sites.remote_rows import Message, RemoteRows
from ..privacy.sites.site import Receipt, Site


class DaskSites:
    """Sites that load their rows on workers and add noise before anything leaves the worker.

    To be passed to ``fit`` in place of X, without y, for the solver ``'dda'`` with local noise.
    Each site is an actor of dask's: an object that stays on one worker. It loads its rows there,
    once, and answers each round with its mean clipped gradient plus noise from the operating system
    of the worker. So the process that calls ``fit``, the scheduler, other workers, and whoever
    listens to them see noisy vectors only.

    A site keeps an account of its own, over all fits, and refuses what would exceed it, whatever
    it is asked. It answers a round that is repeated with the same message. If its worker is lost,
    rows, noise and account are lost with it: the fit fails, and its receipt stands.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster; not asynchronous.
    loaders : mapping of label to callable
        For each site a function without arguments that returns ``(X, y)``, or ``(X, y, labels)``
        with labels of the privacy units of the rows for fits with ``privacy_unit=True``. It is sent
        to the worker and called there, so it should read rows and not carry them.
    epsilon, delta : float
        What each site may spend in all, over all fits with these sites, for a row or for all of
        its rows of a privacy unit. Who is a unit at k sites has sqrt(k) times as large a mu.
    adjacency : {'replace_one', 'zero_out'}, default='replace_one'
        Neighbouring relation, that of the estimator.
    workers : mapping of label to str or int, optional
        Name or address of the worker of each site; by default, sites are dealt out to workers in
        turn, which is for trying things out.
    heard : callable, optional
        Called with each :class:`Message` as it arrives, for a log.

    Attributes
    ----------
    labels : tuple
        Labels of the sites.

    Raises
    ------
    ValueError
        If there is no site, a budget is outside its range, or workers are named for other sites or
        are not there.
    TypeError
        If the client is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client  # doctest: +SKIP
    >>> from skdp import DPLogisticRegression
    >>> from skdp.federated import DaskSites
    >>> def load():
    ...     return np.load("/data/X.npy"), np.load("/data/y.npy")
    >>> model = DPLogisticRegression(epsilon=1.0, delta=1e-6, data_norm=2.0, classes=[0, 1])
    >>> loaders = {"north": load, "south": load}
    >>> places = {"north": "tls://north:8786", "south": "tls://south:8786"}
    >>> with DaskSites(
    ...     Client("tls://hub:8786"), loaders, epsilon=1.0, delta=1e-6, workers=places
    ... ) as sites:
    ...     model.fit(sites)  # doctest: +SKIP
    """

    def __init__(
        self,
        client: Any,
        loaders: Mapping[Any, Callable[[], tuple[Any, Any]]],
        *,
        epsilon: float,
        delta: float,
        adjacency: str = "replace_one",
        workers: Mapping[Any, str | int] | None = None,
        heard: Callable[[Message], None] | None = None,
    ) -> None:
        if client.asynchronous:
            raise TypeError("DaskSites needs a client that is not asynchronous.")
        self.labels = tuple(loaders)
        if not self.labels:
            raise ValueError("DaskSites needs a loader for each of at least one site, got none.")
        if workers is not None and set(workers) != set(loaders):
            raise ValueError("DaskSites needs a worker for each site, and for no other.")
        # Refused here, and not on workers.
        public = Adjacency(adjacency)
        if isinf(limit_of(epsilon, delta)):
            raise ValueError(
                "DaskSites needs a finite epsilon, got inf; sites add noise to all they send."
            )
        self.delta = float(delta)
        self._heard = heard
        arguments = {label: (load, epsilon, delta, public) for label, load in loaders.items()}
        self._actors = Actors(client, Site, arguments, workers)

    def opened(
        self,
        encode: Callable[[np.ndarray], np.ndarray],
        epsilon: float,
        delta: float,
        adjacency: Adjacency,
    ) -> RemoteRows:
        """The rows of one fit; what estimators call.

        Parameters
        ----------
        encode : callable
            Turns the targets (m,) of a site into encoded targets (m,). It is sent to the sites.
        epsilon, delta : float
            What the fit is going to spend at most.
        adjacency : Adjacency
            Neighbouring relation.
        """
        return RemoteRows(self._actors, encode, epsilon, delta, adjacency, self._heard)

    def receipts(self) -> dict[Hashable, Receipt]:
        """Privacy loss at each site, by its own account."""
        found = self._actors.asked("receipt", [()] * len(self.labels))
        return dict(zip(self.labels, found, strict=True))

    def close(self) -> None:
        """Let go of the sites, and their workers of the rows."""
        self._actors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("DaskSites cannot be copied or pickled: sites stay on their workers.")
