"""Locks: one call at a time for each object that learns, in the process where it began.

Two fits of one object at once would each write what they publish into the same attributes: the
model of one would stand beside the receipt of the other, and a call that fails would restore what
was there before the other began. Threads that fed a stream at once would mix up their rows,
features of one person with the label of another, so that one person moved two rows.

So ``fit`` refuses to begin while another call is at work on the object, and the calls of a stream
wait for each other. Copies are objects of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from threading import Lock, get_ident
from typing import Any, TypeVar, final, overload
from weakref import WeakKeyDictionary

from .rows.reading import strict_checks

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])


@final
class _ModelLock:
    """Lock of an object, and the thread that holds it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.thread: int | None = None


# Not attributes of the objects, which are copied, pickled and compared.
_locks: WeakKeyDictionary[Any, _ModelLock] = WeakKeyDictionary()


def run_locked(
    model: Any, method: str, call: Callable[..., T], *arguments: Any, waits: bool = False
) -> T:
    """Make a call that changes an object when nobody else is changing it.

    It runs under :func:`~skdp.privacy.rows.reading.strict_checks`: settings of floating point
    change nothing in it. It waits for others if ``waits``, else it refuses; of two calls that begin
    at the same moment one waits in any case. ``method`` is its name for the message.
    """
    held = _locks.get(model) or _locks.setdefault(model, _ModelLock())
    if held.lock.locked() and not (waits and held.thread != get_ident()):
        raise RuntimeError(
            f"{type(model).__name__}.{method} was called while another call is fitting the same "
            "object, and one would have overwritten the model and the receipt of the other. Fit "
            "a clone in each thread. This call has read and spent nothing."
        )
    # In one line: an interruption at the beginning of a line, after the call and before the lock is
    # opened, would leave it locked for good. Within a line there is none at such a place.
    # fmt: off
    with held.lock: return _marked(held, call, arguments)  # noqa: E701
    # fmt: on


@overload
def locked(method: Method) -> Method: ...


@overload
def locked(*, waits: bool) -> Callable[[Method], Method]: ...


def locked(method: Any = None, *, waits: bool = False) -> Any:
    """A method that changes its object, made to run by :func:`run_locked`.

    Arguments that it does not take are refused with those that it takes.
    """
    if method is None:
        return partial(locked, waits=waits)
    declared = signature(method)
    taken = ", ".join(list(declared.parameters)[1:])

    @wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        try:
            declared.bind(self, *arguments, **options)
        except TypeError as error:
            who, name = type(self).__name__, method.__name__
            refusal = (
                f"{who}.{name}: {error}. It takes {taken}; parameters such as epsilon are those "
                f"of {who}(...)."
            )
            if "groups" in options and "sites" in declared.parameters:
                refusal += (
                    " Labels of places that keep rows are its sites, labels of people with several "
                    "rows its privacy_unit."
                )
            raise TypeError(refusal) from None
        bound = partial(method, self, *arguments, **options)
        return run_locked(self, method.__name__, bound, waits=waits)

    return call


def _marked(held: _ModelLock, call: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    held.thread = get_ident()
    try:
        with strict_checks():
            return call(*arguments)
    finally:
        held.thread = None


if hasattr(os, "register_at_fork"):
    # Threads of the parent are not there to end what they have begun.
    os.register_at_fork(after_in_child=_locks.clear)


class ProcessGuard:
    """Guard of a stream against use in a forked child.

    A forked child has a copy of all that its parent holds, and both would ask about the rows that
    wait, each for the whole budget.

    Pickles in a checkpoint begin anew, in the process that loads them.
    """

    def __init__(self) -> None:
        self._process = os.getpid()

    @property
    def in_own_process(self) -> bool:
        """Tell whether this is the process of the stream, not a child forked from it."""
        return self._process == os.getpid()

    def __reduce__(self) -> tuple[type[ProcessGuard], tuple[()]]:
        return ProcessGuard, ()
