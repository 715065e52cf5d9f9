"""A planted bug: what is broken, how that is patched in at run time, and what has to notice."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from typing import Any

import pytest
from planted_bugs.places import PLACES

REPLACE_ONE, ZERO_OUT = "replace_one", "zero_out"
# What a check of a sensitivity says that fails.
TOO_FAR = "times its declared sensitivity|moved by"
# The last is what models that misbehave raise, and nobody is to hear.
NOTICED = (AssertionError, pytest.fail.Exception, RuntimeError)


@dataclass(frozen=True)
class Value:
    """A constant in the place of an attribute.

    Parameters
    ----------
    value : object
        The constant.
    """

    value: Any


@dataclass(frozen=True)
class Anew:
    """A broken function with a memory, which is empty whenever the bug is planted.

    Parameters
    ----------
    make : callable
        Returns the broken function.
    """

    make: Callable[[], Callable]


def times(factor: float) -> Callable:
    """A broken function whose result is so many times the right one."""
    return lambda honest, *args, **options: factor * honest(*args, **options)


def after(effect: Callable) -> Callable:
    """A broken method that does what the right one does, and then something else to its object."""

    def bug(honest: Callable, this: Any, *args: Any, **options: Any) -> Any:
        result = honest(this, *args, **options)
        effect(this, *args)
        return result

    return bug


def sets(name: str, value: Callable) -> Callable:
    """A broken method that leaves an attribute with a value that is computed from the object."""
    return after(lambda this, *args: setattr(this, name, value(this, *args)))


def gives(result: object) -> Callable:
    """A broken function with the same result whatever it is given."""
    return lambda honest, *args, **options: result


@contextmanager
def refused(instead: str, error: type[Exception] = ValueError) -> Iterator[None]:
    """A block that has to raise an error.

    ``pytest.raises`` says only that nothing was raised, and not what that would mean.
    """
    try:
        yield
    except error:
        return
    raise AssertionError(instead)


def patching(check: Callable, *args: Any, **options: Any) -> None:
    """A property that is a test with the fixture ``monkeypatch``."""
    with pytest.MonkeyPatch.context() as patch:
        check(*args, monkeypatch=patch, **options)


@dataclass(frozen=True)
class Bug:
    """A row of the catalogue.

    Parameters
    ----------
    what : str
        What is broken.
    patches : mapping of str to callable, Value or Anew
        Attributes as ``places`` finds them, each with what takes its place: a function that is
        given the right one and then its arguments, or a value.
    caught_by : callable
        Property that holds without the bug and does not with it: it returns, or raises.
    match : str, default=''
        Pattern of what is raised.
    nightly : bool, default=False
        True if the row takes too long for each run of the tests.
    needs : str, default=''
        Module without which the property says nothing.
    """

    what: str
    patches: Mapping[str, Any]
    caught_by: Callable[[], Any]
    match: str = ""
    nightly: bool = field(default=False, kw_only=True)
    needs: str = field(default="", kw_only=True)

    @property
    def property_name(self) -> str:
        """Name of the property, with what it is about."""
        check = self.caught_by
        if isinstance(check, partial):
            about = ", ".join([*map(_short, check.args), *map(_short, check.keywords.values())])
            return f"{check.func.__name__}({about})"
        return check.__name__

    @contextmanager
    def planted(self) -> Iterator[None]:
        """The code with the bug."""
        with pytest.MonkeyPatch.context() as patch:
            for target, broken in self.patches.items():
                owner, name = _found(target)
                patch.setattr(
                    owner, name, _replacement(inspect.getattr_static(owner, name), broken)
                )
            yield


def noticed(bug: Bug) -> bool:
    """True if the property of a bug fails where the bug is planted."""
    with bug.planted():
        try:
            bug.caught_by()
        except NOTICED:
            return True
    return False


def _short(value: object) -> str:
    return getattr(value, "__name__", " ".join(str(value).split()))


def _found(target: str) -> tuple[Any, str]:
    """The owner of an attribute, and its name there."""
    head, *path, name = target.split(".")
    if head not in PLACES:
        raise LookupError(
            f"{target} needs a place for {head!r}; one that is unique, or add it to _CALLED."
        )
    module = import_module(PLACES[head])
    owner = getattr(module, head) if head[0].isupper() else module
    for step in path:
        owner = getattr(owner, step)
    return owner, name


def _replacement(honest: Any, broken: Any) -> Any:
    if isinstance(broken, Value):
        return broken.value
    if isinstance(broken, Anew):
        broken = broken.make()
    if isinstance(honest, property):
        return property(_with(broken, honest.fget))
    if isinstance(honest, cached_property):
        return property(_with(broken, honest.func))
    if isinstance(honest, classmethod | staticmethod):
        return type(honest)(_with(broken, honest.__func__))
    return _with(broken, honest)


def _with(broken: Callable, honest: Any) -> Callable:
    def replaced(*args: Any, **options: Any) -> Any:
        return broken(honest, *args, **options)

    return replaced
