"""A site on its worker: rows, noise and an account that no other process has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from threading import Lock
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names

from ...exceptions import BudgetExceededError
from ...validation import telling_sizes
from ..accounting.events import Event
from ..accounting.ledger import Ledger, PrivacySpent, Spend
from ..adjacency import Adjacency
from ..oracle import PrivateOracle
from ..randomness import SystemNoise
from ..rows.base import ResidentRows
from ..rows.in_memory import rows_in_memory
from ..rows.partition import Facts, Refusal
from ..rows.partitions import unpacked
from ..rows.privacy_units import PrivacyUnits
from ..rows.reading import redacted, strict_checks


class Receipt(NamedTuple):
    """Privacy loss at a site, by its own account."""

    #: What holds for each of its rows, or privacy units.
    spent: PrivacySpent
    #: What it has released.
    events: tuple[Event, ...]


class Request(NamedTuple):
    """Query to a site in a round; public."""

    #: Name of the fit.
    fit: str
    #: Of the round; larger in each round of a fit.
    number: int
    #: Problem and clip_norm, packed.
    content: list[bytes]
    #: Where the gradient is wanted.
    w: np.ndarray
    #: What it may cost, in mu^2.
    amount: float

    def digest(self) -> bytes:
        """A short stand-in for all of it."""
        parts = blake2b(repr((self.fit, self.number, self.amount, self.w.shape)).encode())
        for piece in (*self.content, self.w.tobytes()):
            parts.update(blake2b(piece).digest())
        return parts.digest()


class Site:
    """Answers with its mean clipped gradient and noise of its own. Lives on a worker, as an actor.

    Behind it is a private oracle like that of a fit in memory, with these rows, with noise from the
    operating system of the worker, and with a ledger that adds up over all fits. So a site works
    out its noise by itself and does not depend on whoever asks to keep accounts.

    Nothing here raises. What goes wrong is returned as a ``Refusal``, because workers write
    exceptions into logs and send them, and their text may hold data.

    Parameters
    ----------
    load : callable
        Returns X and y, and labels of the privacy units of the rows if these are to be protected,
        without arguments. Called once, here.
    epsilon, delta : float
        What the site may spend in all.
    adjacency : Adjacency
        Neighbouring relation.

    Guarantees
    ----------
    - What leaves it, ever, is (epsilon, delta)-DP in its rows, or all rows of one of its privacy
      units together, besides the number of rows, or of units, number and names of features, their
      type, and whether they and their targets are well-formed.
    - A round that is asked for again has the very same message; noise is not drawn anew. Earlier
      rounds, and the same round with another query, are refused.
    - It cannot be copied or pickled, nor can anything it holds but what is public.
    """

    def __init__(
        self,
        load: Callable[[], tuple[Any, Any]],
        epsilon: float,
        delta: float,
        adjacency: Adjacency,
    ) -> None:
        self._turn = Lock()
        self._ledger = Ledger(epsilon, delta)
        self._adjacency = adjacency
        self._fit = ""
        self._oracle: PrivateOracle | None = None
        self._n_samples = 0
        self._latest: tuple[int, bytes, np.ndarray] | None = None
        self._held: _Held | Refusal
        try:
            self._held = _read(load)
        except Exception as error:
            self._held = _failure(error, "load its rows")
        self._noise = SystemNoise()

    def opened(
        self, fit: str, content: list[bytes], epsilon: float, delta: float, adjacency: Adjacency
    ) -> Facts | Refusal:
        """Get ready for a fit, and say what is public about the rows.

        Fits before are over. The content is the function that encodes targets, packed, and the
        budget the most that the fit is going to spend.
        """
        with self._turn:
            try:
                return self._opened(fit, content, epsilon, delta, adjacency)
            except (ValueError, TypeError) as error:
                # Those of checks quote nothing, as in memory.
                return Refusal(type(error), str(error))
            except Exception as error:
                return _failure(error, "encode its targets")

    def answered(self, request: Request) -> np.ndarray | Refusal:
        """The noisy mean gradient of its rows, charged to its own ledger first."""
        with self._turn:
            try:
                return self._answered(request)
            except BudgetExceededError as error:
                return Refusal(BudgetExceededError, str(error))
            except Exception as error:
                return _failure(error, "answer")

    def receipt(self) -> Receipt:
        """Privacy loss so far, by its own account."""
        with self._turn:
            return Receipt(self._ledger.spent(), self._ledger.receipt())

    def _opened(
        self, fit: str, content: list[bytes], epsilon: float, delta: float, adjacency: Adjacency
    ) -> Facts | Refusal:
        if isinstance(self._held, Refusal):
            return self._held
        if adjacency is not self._adjacency:
            return Refusal(
                ValueError,
                f"it accounts for adjacency={self._adjacency.value!r}, got {adjacency.value!r}.",
            )
        if Ledger(epsilon, delta).limit > self._ledger.remaining:
            spent, ledger = self._ledger.spent(), self._ledger
            return Refusal(
                BudgetExceededError,
                f"a fit with epsilon={epsilon:.6g} and delta={delta:.6g} is more than it has left "
                f"at delta={ledger.delta:.6g}, of which epsilon={spent.epsilon:.6g} is spent.",
            )
        rows = self._held.rows(unpacked(content))
        self._fit, self._latest = fit, None
        self._oracle = PrivateOracle(rows, self._ledger, self._adjacency, self._noise)
        self._n_samples = rows.n_samples
        return self._held.facts

    def _answered(self, request: Request) -> np.ndarray | Refusal:
        digest = request.digest()
        number, known, message = self._latest or (-1, b"", np.empty(0))
        if digest == known:
            return message.copy()
        if self._oracle is None or request.fit != self._fit or request.number <= number:
            return Refusal(
                RuntimeError,
                "it needs the rounds of one fit, one after the other, and the same query if a "
                "round is repeated. Another fit may have begun; run one at a time.",
            )
        problem, clip_norm = unpacked(request.content)
        own = replace(problem, n_samples=self._n_samples, sites=None, initial=None)
        oracle = self._oracle.for_problem(own)
        message = oracle.gradient(request.w, spend=Spend(request.amount), clip_norm=clip_norm)
        self._latest = request.number, digest, message
        return message.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError("Site cannot be copied or pickled: rows and noise stay where they are.")


class _Held:
    """Rows as they were loaded, and what is public about them."""

    def __init__(self, X: Any, y: np.ndarray, units: PrivacyUnits | None, facts: Facts) -> None:
        self._X, self._y, self._units = X, y, units
        self.facts = facts

    def rows(self, encode: Callable[[np.ndarray], np.ndarray]) -> ResidentRows:
        with strict_checks():
            y = encode(self._y)
        return rows_in_memory(self._X, y, None, self._units)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows of a site cannot be copied or pickled: they stay where they are.")


def _read(load: Callable[[], tuple[Any, Any]]) -> _Held | Refusal:
    given: Any = load()
    if not isinstance(given, tuple | list) or len(given) not in (2, 3):
        return Refusal(
            ValueError,
            "its loader has to return a pair (X, y), or (X, y, labels) with privacy units.",
        )
    X, y, units = given[0], np.asarray(given[1]), None
    try:
        columns = _get_feature_names(X)
        if len(given) == 3:
            units = PrivacyUnits.of(given[2])
            units.check(X, y)
        with telling_sizes(units is None):
            X = redacted(
                check_array,
                X,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                input_name="X",
            )
    except (ValueError, TypeError) as error:
        return Refusal(type(error), str(error))
    n, d = X.shape
    if y.shape != (n,):
        got = f", got {n} rows and targets of shape {y.shape}" if units is None else ""
        return Refusal(ValueError, f"it needs one target a row{got}.")
    names, counted = None if columns is None else tuple(columns), units is not None
    n = n if units is None else units.n_units
    facts = Facts(n, d, sp.issparse(X), X.dtype == np.float32, names, of_units=counted)
    return _Held(X, y, units, facts)


def _failure(error: Exception, what: str) -> Refusal:
    # Its text may quote rows.
    return Refusal(
        RuntimeError,
        f"it could not {what}: {type(error).__name__}. What the exception says is left out, "
        "because it may quote data.",
    )
