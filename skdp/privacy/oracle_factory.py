"""Factory of oracles for fits.

A fit gets a private oracle unless the code around it asked for another kind. That request is held
in a context variable and not in the module: were the module patched, fits that run in other threads
at the same time would get the other oracle as well, lose their noise, and still hand out a finite
receipt. A request is seen by the code inside its ``with`` block alone; a new thread starts without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .accounting.ledger import Ledger
from .adjacency import Adjacency
from .oracle import Oracle, PrivateOracle
from .randomness import SecretNoise
from .rows.base import RowStore

__all__ = ["OracleFactory", "open_oracle", "opened_by"]

OracleFactory = Callable[[RowStore, Ledger, Adjacency, SecretNoise], Oracle]

_factory: ContextVar[OracleFactory] = ContextVar("oracle_factory", default=PrivateOracle)


def open_oracle(rows: RowStore, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise) -> Oracle:
    """The oracle for a fit: private, unless within :func:`opened_by`.

    Parameters
    ----------
    rows : RowStore
        The data.
    ledger : Ledger
        Charged before rows are read.
    adjacency : Adjacency
        Neighbouring relation.
    noise : SecretNoise
        Source of the noise.
    """
    return _factory.get()(rows, ledger, adjacency, noise)


@contextmanager
def opened_by(factory: OracleFactory) -> Iterator[None]:
    """Let fits within the block, and no others, get their oracle from this factory. For tests.

    Parameters
    ----------
    factory : callable
        Takes the arguments of :func:`open_oracle` and returns an oracle. The privacy of fits
        within the block is that of the oracles it returns.
    """
    token = _factory.set(factory)
    try:
        yield
    finally:
        _factory.reset(token)
