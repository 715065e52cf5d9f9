"""Public things are documented, their parameters are all named, and their examples run."""

import doctest
import enum
import importlib
import inspect
import pkgutil
import re

import pytest

import skdp

MODULES = [
    skdp,
    *(importlib.import_module(m.name) for m in pkgutil.walk_packages(skdp.__path__, "skdp.")),
]


def documented_parameters(docstring):
    """Names in the Parameters section of a numpydoc docstring; None if it has no such section."""
    lines = inspect.cleandoc(docstring).splitlines()
    headers = [i for i in range(len(lines) - 1) if re.fullmatch("-{3,}", lines[i + 1])]
    start = next((i for i in headers if lines[i] == "Parameters"), None)
    if start is None:
        return None
    end = next((i for i in headers if i > start), len(lines))
    entries = [line.partition(" : ")[0] for line in lines[start + 2 : end] if re.match(r"\S", line)]
    return [name.strip().lstrip("*") for entry in entries for name in entry.split(",")]


def signature_parameters(thing):
    """Names of the parameters of a function or constructor, without self."""
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


def takes_documented_parameters(thing):
    """Whether constructing it is a user's business: not so for enums and exceptions."""
    return inspect.isfunction(thing) or not issubclass(thing, enum.Enum | BaseException)


def exported(modules):
    """(label, thing) of the classes and functions in ``__all__``, each once."""
    things = {}
    for module in modules:
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                things[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return sorted(things.items())


def documented(modules):
    """Exported things and the public methods that their classes define."""
    for label, thing in exported(modules):
        yield label, thing
        for name, member in vars(thing).items() if inspect.isclass(thing) else ():
            if inspect.isfunction(member) and not name.startswith("_"):
                yield f"{label}.{name}", member


def own_docstring(thing):
    """The docstring written for the thing itself, not inherited or made up by dataclass."""
    text = thing.__doc__ or ""
    return "" if text.startswith(f"{thing.__name__}(") else text


def test_public_things_have_docstrings():
    assert [label for label, thing in exported(MODULES) if not own_docstring(thing)] == []


def test_things_exported_by_a_package_document_their_parameters():
    packages = [m for m in MODULES if hasattr(m, "__path__")]
    taken = [(label, t) for label, t in exported(packages) if takes_documented_parameters(t)]
    assert taken
    found = {label: documented_parameters(thing.__doc__ or "") or [] for label, thing in taken}
    assert found == {label: signature_parameters(thing) for label, thing in taken}


def test_documented_parameters_match_the_signature():
    found = [(t, documented_parameters(t.__doc__ or "")) for _, t in documented(MODULES)]
    told = [(thing, names) for thing, names in found if names is not None]
    assert told
    assert [thing for thing, names in told if names != signature_parameters(thing)] == []


WITH_EXAMPLES = [m for m in MODULES if ">>> " in inspect.getsource(m)]


@pytest.mark.parametrize("module", WITH_EXAMPLES, ids=lambda module: module.__name__)
def test_examples_run(module):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testmod(module, optionflags=flags)
    assert found.attempted
    assert found.failed == 0


def test_modules_and_public_things_are_found():
    assert len(MODULES) > 1
    assert exported([skdp])


def planted(first, *rest, key=None):
    """Do nothing.

    Parameters
    ----------
    first, second : int
        Both are described at once.
    *rest
        No type.
    key : str, default=None
        A colon: inside the text.

    Returns
    -------
    nothing : None
    """


def test_parser_reads_names_and_notices_a_difference():
    assert documented_parameters(planted.__doc__) == ["first", "second", "rest", "key"]
    assert signature_parameters(planted) == ["first", "rest", "key"]
    assert documented_parameters("Summary only.") is None
