"""Public things are documented, their parameters are all named, and their examples run."""

import ast
import doctest
import enum
import importlib
import importlib.util
import inspect
import pkgutil
import re
from functools import cached_property
from pathlib import Path

import pytest

import skdp

ROOT = Path(skdp.__file__).parent
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
    """(label, thing) of public classes and functions of modules, each once.

    A package says in ``__all__`` what it shows; a module shows what it defines without underscore.
    """
    things = {}
    for module in modules:
        here = module.__name__
        own = [n for n, t in vars(module).items() if getattr(t, "__module__", "") == here]
        for name in getattr(module, "__all__", [n for n in own if not n.startswith("_")]):
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


def test_public_methods_have_docstrings_or_inherit_them():
    classes = [thing for _, thing in exported(MODULES) if inspect.isclass(thing)]
    kinds = property, cached_property, classmethod, staticmethod
    found = [
        (kind, name)
        for kind in classes
        for name, member in vars(kind).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, kinds))
    ]
    assert len(found) > 1000
    assert [f"{k.__name__}.{n}" for k, n in found if not documented_in(k, n)] == []


def documented_in(kind, name):
    return any(getattr(vars(base).get(name), "__doc__", None) for base in kind.__mro__)


def described_parameters(thing):
    """Names that the docstring describes, or that of a class from which the signature comes."""
    for kind in thing.__mro__ if inspect.isclass(thing) else [thing]:
        if names := documented_parameters(kind.__doc__ or ""):
            return names
    return []


def test_things_exported_by_a_package_document_their_parameters():
    # What the kernel shows, it shows to its own tests.
    shown = [m for m in MODULES if hasattr(m, "__path__") and ".privacy" not in m.__name__]
    taken = [(label, t) for label, t in exported(shown) if takes_documented_parameters(t)]
    # Abstract ones say what is common to their subclasses.
    taken = [(label, t) for label, t in taken if not inspect.isabstract(t)]
    assert taken
    found = {label: described_parameters(thing) for label, thing in taken}
    assert found == {label: signature_parameters(thing) for label, thing in taken}


def test_documented_parameters_match_the_signature():
    things = [t for _, t in documented(MODULES) if not inspect.isabstract(t)]
    found = [(t, documented_parameters(t.__doc__ or "")) for t in things]
    told = [(thing, names) for thing, names in found if names is not None]
    assert told
    assert [thing for thing, names in told if names != signature_parameters(thing)] == []


def test_models_say_of_all_they_have_what_it_is():
    page = inspect.getdoc(skdp.DPLogisticRegression)
    # Of its own, of classifiers, of what infers, and of every model.
    own, shared = ("l1_ratio", "solver"), ("classes_", "inference_", "data_norm", "privacy_spent_")
    for name in (*own, *shared, "privacy_unit_"):
        assert len(re.findall(rf"(?m)^{name} : ", page)) == 1, name
    # The nearest says it: a delta of 0 is for classifiers, and regressors with noisy minima.
    assert "0 is pure epsilon" in described(page, "delta")
    assert "0 is pure epsilon" not in described(skdp.DPPoissonRegressor.__doc__, "delta")
    both = skdp.DPLogisticRegression.partial_fit, skdp.DPLinearRegression.partial_fit
    assert [documented_parameters(f.__doc__) for f in both] == [
        signature_parameters(f) for f in both
    ]


SECTIONS = ["Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also"]
SECTIONS += ["Guarantees", "Notes", "References", "Examples"]


def test_sections_of_pages_come_once_and_in_the_order_of_numpydoc():
    pages = {t: inspect.cleandoc(t.__doc__ or "") for _, t in exported(MODULES)}
    found = {t: re.findall(r"(?m)^([A-Z][\w ]*)\n-{3,}$", page) for t, page in pages.items()}
    assert sum(map(len, found.values())) > 300
    kept = {t: [s for s in SECTIONS if s in titles] for t, titles in found.items()}
    assert found == kept


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


# First words of clauses, and of phrases without a noun of their own: they say what is asked of a
# thing instead of what it is.
NO_BEGINNING = re.compile(
    r"(What|Whether|How|That|The same|When|Where|Who|Whose|Why|Which"
    r"|As|At|By|For|From|If|In|Of|On|Those|With)\b"
)


def first_lines(sources):
    """(place, first line) of each docstring of modules, classes and functions, private ones too."""
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    for place, source in sources:
        for thing in ast.walk(ast.parse(source)):
            if isinstance(thing, kinds) and (text := ast.get_docstring(thing, clean=False)):
                yield f"{place}:{getattr(thing, 'name', 'module')}", text.strip().splitlines()[0]


def test_every_docstring_begins_with_a_noun_or_a_verb():
    sources = [(str(path.relative_to(ROOT)), path.read_text()) for path in ROOT.rglob("*.py")]
    lines = list(first_lines(sources))
    assert len(lines) > 1000
    assert [line for line in lines if NO_BEGINNING.match(line[1])] == []


CLIP = (
    "bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in "
    "units of ``row_norm * max_weight``"
)


def described(docstring, name):
    """Text of a parameter in a numpydoc docstring, in one line; empty if it is not there."""
    entry = re.search(rf"(?m)^{name} : .*\n((?:    .*\n?)+)", inspect.cleandoc(docstring))
    return " ".join(entry[1].split()) if entry else ""


def words_of_clip(kinds):
    """Descriptions of the parameter ``clip`` of classes that have one."""
    takes = {kind: signature_parameters(kind) for kind in kinds}
    return {
        kind.__name__: described(kind.__doc__, "clip")
        for kind, names in takes.items()
        if "clip" in names
    }


def test_clip_is_worded_alike_in_every_solver_and_in_the_glossary():
    found = words_of_clip(skdp.solvers.SOLVERS.values())
    assert len(found) > 9
    assert [name for name, text in found.items() if not text.lower().startswith(CLIP)] == []
    page = (ROOT.parent / "docs" / "reference" / "glossary.md").read_text().replace("`", "")
    assert CLIP.replace("`", "") in page.lower()
