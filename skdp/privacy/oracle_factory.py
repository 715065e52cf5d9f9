"""Factory of fits: it makes a ledger, a source of noise, and the oracle that has both.

A fit gets a private oracle unless the code around it asked for another kind. That request is held
in a context variable and not in the module: were the module patched, fits that run in other threads
at the same time would get the other oracle as well, lose their noise, and still hand out a finite
receipt. A request is seen by the code inside its ``with`` block alone; a new thread starts without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, final

from .accounting.calculus import Calculus, GaussianDP
from .accounting.ledger import Ledger
from .adjacency import Adjacency
from .oracle import Oracle, PrivateOracle
from .randomness import SecretNoise, SystemNoise, secret_noise
from .rows.base import RowStore
from .sites.remote_oracle import RemoteOracle
from .sites.remote_rows import RemoteRows

OracleFactory = Callable[[RowStore, Ledger, Adjacency, SecretNoise], Oracle]

_factory: ContextVar[OracleFactory] = ContextVar("oracle_factory", default=PrivateOracle)


@dataclass(frozen=True)
class PrivacyTerms:
    """Public terms on which rows are asked."""

    #: The whole budget.
    epsilon: float
    delta: float
    adjacency: Adjacency
    #: Adds up what is charged.
    calculus: Calculus = field(default_factory=GaussianDP)

    @final
    def ledger(self) -> Ledger:
        """An empty account of the whole budget, which adds up as these terms say."""
        return Ledger(self.epsilon, self.delta, calculus=self.calculus)


def noise_for(random_state: Any, rows: RowStore | None = None) -> SecretNoise:
    """The source of the noise of one fit, or of all parts of a stream.

    Sites on workers draw their own noise, whatever ``random_state`` says of public randomness.

    Warns
    -----
    SeededNoiseWarning
        If ``random_state`` is not None.
    """
    return SystemNoise() if isinstance(rows, RemoteRows) else secret_noise(random_state)


def open_rows(rows: RowStore, terms: PrivacyTerms, noise: SecretNoise) -> tuple[Oracle, Ledger]:
    """An oracle for rows that nobody has asked about, and its empty ledger. Reads nothing.

    The oracle is private, unless within :func:`opened_by`. No other ledger may say anything about
    these rows.
    """
    ledger = terms.ledger()
    if isinstance(rows, RemoteRows):
        return RemoteOracle(rows, ledger, terms.adjacency), ledger
    return _factory.get()(rows, ledger, terms.adjacency, noise), ledger


@contextmanager
def opened_by(factory: OracleFactory) -> Iterator[None]:
    """Let fits within the block, and no others, get their oracle from this factory. For tests.

    The privacy of fits within the block is that of the oracles that the factory returns.
    """
    token = _factory.set(factory)
    try:
        yield
    finally:
        _factory.reset(token)
