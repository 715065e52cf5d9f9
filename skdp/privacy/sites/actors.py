"""Objects that stay on the workers of a dask cluster, and how they are asked."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any

from ..rows.partition import Refusal

# Seconds after which one looks whether a worker that has not answered is still there.
_PATIENCE = 1.0


class Actors:
    """One actor for each label, on a worker that is not changed.

    An actor that is lost is not made again: dask does not know how to, and what it held is gone.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster; not asynchronous.
    kind : type
        What they are. Its constructor and methods return and do not raise.
    arguments : mapping of label to tuple
        What each is made from.
    workers : mapping of label to str or int, optional
        Name or address of the worker of each; dealt out in turn by default.
    """

    def __init__(
        self,
        client: Any,
        kind: type,
        arguments: Mapping[Hashable, tuple[Any, ...]],
        workers: Mapping[Any, str | int] | None,
    ) -> None:
        self.labels = tuple(arguments)
        self._client = client
        self._places = _places(client, self.labels, workers)
        self._made = [
            client.submit(
                kind,
                *given,
                actor=True,
                workers=[place],
                allow_other_workers=False,
                pure=False,
            )
            for given, place in zip(arguments.values(), self._places, strict=True)
        ]
        self._handles: list[Any] = []

    def asked(
        self,
        method: str,
        arguments: Sequence[tuple[Any, ...]],
        numbers: Sequence[int] | None = None,
    ) -> list[Any]:
        """Results of a method of some of them, called all at once.

        There is a tuple of arguments for each that is asked; by default all are.

        Raises
        ------
        RuntimeError
            If one of them is lost, or they have been closed.
        Exception
            What an answer that is a ``Refusal`` stands for; the first of them.
        """
        asked = range(len(self.labels)) if numbers is None else numbers
        with self._client.as_current():
            handles, coming = self._settled(), []
            for i, given in zip(asked, arguments, strict=True):
                with self._lost(i):
                    coming.append(getattr(handles[i], method)(*given))
            found = [self._arrived(i, one) for i, one in zip(asked, coming, strict=True)]
        for i, answer in zip(asked, found, strict=True):
            if isinstance(answer, Refusal):
                raise answer.kind(f"The site {self.labels[i]!r} refuses: {answer.message}")
        return found

    def close(self) -> None:
        """Let workers let go of them."""
        # Handles refer to themselves in a circle and would keep them until it is collected.
        self._client.cancel(self._made)
        self._handles, self._made = [], []

    def _settled(self) -> list[Any]:
        if not self._made:
            raise RuntimeError("The sites have been closed; make new DaskSites.")
        if not self._handles:
            self._handles = [self._arrived(i, made) for i, made in enumerate(self._made)]
        return self._handles

    def _arrived(self, i: int, coming: Any) -> Any:
        while True:
            try:
                with self._lost(i):
                    return coming.result(timeout=_PATIENCE)
            except TimeoutError:
                # An answer of a worker that is gone may never arrive.
                present = self._places[i] in self._client.nthreads()
                if not present or self._made[i].status not in ("pending", "finished"):
                    raise self._loss(i) from None

    @contextmanager
    def _lost(self, i: int) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise
        except Exception as error:
            raise self._loss(i, f" ({type(error).__name__})") from error

    def _loss(self, i: int, how: str = "") -> RuntimeError:
        return RuntimeError(
            f"The site {self.labels[i]!r} does not answer{how}: its worker is lost, and with it "
            "the rows, the noise and the account of the site. What has been charged stands. Make "
            "new DaskSites to fit again, which spends anew."
        )


def _places(
    client: Any, labels: Sequence[Hashable], workers: Mapping[Any, str | int] | None
) -> list[str]:
    """The address of the worker of each."""
    known = client.nthreads()
    if workers is None:
        return [place for _, place in zip(labels, cycle(sorted(known)), strict=False)]
    try:
        found = client.scheduler_info(n_workers=-1)["workers"]
    except TypeError:
        # Versions that tell of all workers without being asked to.
        found = client.scheduler_info()["workers"]
    named = {str(facts["name"]): address for address, facts in found.items()}
    named |= {address: address for address in known}
    missing = [label for label in labels if str(workers[label]) not in named]
    if missing:
        raise ValueError(
            f"DaskSites needs workers that the cluster has, got others for {missing}; see "
            "client.nthreads() for addresses."
        )
    return [named[str(workers[label])] for label in labels]
