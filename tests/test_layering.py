"""The import law, read from the sources: what may know of what, and who may draw random numbers.

Each check takes a path inside the repository and a source text, and returns its complaints. The
second half of the file plants a violation for each check and expects it to be caught.
"""

import ast
from pathlib import Path, PurePosixPath

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = [p.relative_to(REPOSITORY).as_posix() for p in (REPOSITORY / "skdp").rglob("*.py")]
SOURCES = PACKAGE + [
    p.relative_to(REPOSITORY).as_posix()
    for folder in ("tests", "examples")
    for p in (REPOSITORY / folder).rglob("*.py")
]

# Layer: what it may not import. The longest matching layer of a module decides.
UPWARDS = (
    *("skdp.report", "skdp.audit", "skdp.estimators", "skdp.model_selection"),
    *("skdp.preprocessing", "skdp.testing"),
)
BEHIND_THE_ORACLE = ("skdp.data", "skdp.privacy", "skdp.remote")
FORBIDDEN = {
    "skdp": UPWARDS,
    "skdp.estimators": (
        *("skdp.report", "skdp.audit", "skdp.model_selection"),
        *("skdp.preprocessing", "skdp.testing"),
    ),
    # It fits whole estimators, and keeps their rows from everybody but them and their scores.
    "skdp.model_selection": ("skdp.audit", "skdp.testing", "skdp.privacy.oracle"),
    # Reads receipts of fitted models; asks nothing.
    "skdp.report": ("skdp.testing", "skdp.data", "skdp.privacy.oracle", "skdp.model_selection"),
    # Beside the estimators: it asks the oracle, and knows no model.
    "skdp.preprocessing": (
        *("skdp.estimators", "skdp.model_selection", "skdp.testing", "skdp.problem"),
        *("skdp.solvers", "skdp.conditioning", "skdp.policies", "skdp.remote"),
    ),
    # It runs whole estimators, and nothing looks at it.
    "skdp.audit": ("skdp.testing",),
    # A tool of tests: it may look at everything, and nothing may look at it.
    "skdp.testing": (),
    # A solver may condition a smaller problem that it makes; conditioning knows no solver.
    "skdp.solvers": (*UPWARDS, *BEHIND_THE_ORACLE),
    "skdp.conditioning": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers"),
    "skdp.bounds": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers", "skdp.problem"),
    "skdp.column_bounds": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers", "skdp.problem"),
    "skdp.policies": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers"),
    "skdp.bandit_problem": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers", "skdp.problem"),
    "skdp.contexts": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers", "skdp.problem"),
    # It speaks before there are data.
    "skdp.planning": (*UPWARDS, "skdp.data", "skdp.privacy.oracle", "skdp.solvers"),
    "skdp.problem": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers"),
    "skdp.losses": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers", "skdp.problem"),
    "skdp.mirror_maps": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers", "skdp.problem"),
    "skdp.regularizers": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers", "skdp.problem"),
    "skdp.constraints": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers", "skdp.problem"),
    "skdp.gossip": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers", "skdp.problem"),
    "skdp.sites": (*UPWARDS, *BEHIND_THE_ORACLE, "skdp.solvers", "skdp.problem"),
    "skdp.privacy": (
        *UPWARDS,
        *("skdp.solvers", "skdp.conditioning", "skdp.policies", "skdp.remote"),
    ),
    "skdp.data": (*UPWARDS, "skdp.privacy", "skdp.solvers", "skdp.conditioning", "skdp.remote"),
    # Whole sites, with oracles of their own.
    "skdp.remote": (*UPWARDS, "skdp.solvers", "skdp.conditioning", "skdp.policies"),
}
ALLOWED = {
    "skdp.solvers": ("skdp.privacy.schedules", "skdp.privacy.calculus"),
    "skdp.policies": ("skdp.privacy.calculus",),
    "skdp.bandit_problem": ("skdp.privacy.adjacency",),
}
SUBMODULES = {module.split(".")[1] for module in FORBIDDEN if "." in module} | {
    p.stem for p in (REPOSITORY / "skdp").iterdir() if p.name != "__init__.py"
}
# Layers that must not hold rows or noise: what they return has to be post-processing.
PURE = (
    "skdp.solvers",
    "skdp.conditioning",
    "skdp.losses",
    "skdp.regularizers",
    "skdp.constraints",
    "skdp.mirror_maps",
    "skdp.problem",
    "skdp.bounds",
    "skdp.column_bounds",
    "skdp.gossip",
    "skdp.sites",
    "skdp.policies",
    "skdp.bandit_problem",
    "skdp.contexts",
)
RANDOM = ("numpy.random", "random", "secrets", "os.urandom", "sklearn.utils.check_random_state")
# Special names that lead to no hidden state.
HARMLESS = {"__init__", "__post_init__", "__setattr__", "__name__", "__qualname__", "__class__"}
VAGUE = {"utils", "helpers", "common"}


def module_of(path):
    """Dotted name of the module at a path."""
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def within(name, prefixes):
    """Whether a dotted name is one of the prefixes or lies below one."""
    return any(name == p or name.startswith(p + ".") for p in prefixes)


def layer_of(path):
    """The longest entry of FORBIDDEN that holds the module; None outside the package."""
    return max((k for k in FORBIDDEN if within(module_of(path), [k])), key=len, default=None)


class RunTime(ast.NodeVisitor):
    """Walks what is executed: neither ``if TYPE_CHECKING:`` bodies nor annotations."""

    def __init__(self, path, source):
        self.path = path
        self.imports = []  # (line, absolute dotted name)
        self.names = {}  # local name -> absolute dotted name
        self.attributes = []  # every ast.Attribute
        self.calls = []  # every ast.Call
        self.visit(ast.parse(source))

    def visit_If(self, node):
        guard = node.test
        name = guard.attr if isinstance(guard, ast.Attribute) else getattr(guard, "id", None)
        if name == "TYPE_CHECKING":
            for child in node.orelse:
                self.visit(child)
        else:
            self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node):
        pass

    def visit_FunctionDef(self, node):
        for child in (*node.decorator_list, node.args, *node.body):
            self.visit(child)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Import(self, node):
        for alias in node.names:
            self.imports.append((node.lineno, alias.name))
            top = alias.name.partition(".")[0]
            self.names[alias.asname or top] = alias.name if alias.asname else top

    def visit_ImportFrom(self, node):
        base = node.module or ""
        if node.level:
            package = module_of(self.path).split(".")
            if PurePosixPath(self.path).name == "__init__.py":
                package.append("")
            base = ".".join([*package[: -node.level], *([base] if base else [])])
        for alias in node.names:
            self.imports.append((node.lineno, f"{base}.{alias.name}"))
            self.names[alias.asname or alias.name] = f"{base}.{alias.name}"

    def visit_Attribute(self, node):
        self.attributes.append(node)
        self.generic_visit(node)

    def visit_Call(self, node):
        self.calls.append(node)
        self.generic_visit(node)

    def dotted(self, node):
        """Absolute dotted name of a chain of attributes that starts at an import, else ''."""
        if isinstance(node, ast.Attribute):
            head = self.dotted(node.value)
            return head and f"{head}.{node.attr}"
        return self.names.get(node.id, "") if isinstance(node, ast.Name) else ""


def forbidden_imports(path, source):
    """Imports against the direction of the layers."""
    layer = layer_of(path)
    if layer is None or path == "skdp/__init__.py":
        return []
    run_time = RunTime(path, source)
    reached = run_time.imports + [(a.lineno, run_time.dotted(a)) for a in run_time.attributes]
    complaints = []
    for line, name in reached:
        if within(name, FORBIDDEN[layer]) and not within(name, ALLOWED.get(layer, ())):
            complaints.append(f"{path}:{line}: {layer} may not import {name}")
        elif name.startswith("skdp.") and name.split(".")[1] not in SUBMODULES:
            complaints.append(f"{path}:{line}: imports the public package; name the module instead")
    return complaints


def randomness(path, source):
    """Random numbers drawn, or modules found by name, in a layer that has to be pure."""
    if not within(module_of(path), PURE):
        return []
    run_time = RunTime(path, source)
    reached = run_time.imports + [(a.lineno, run_time.dotted(a)) for a in run_time.attributes]
    hidden = [
        c for c in run_time.calls if getattr(c.func, "id", "") in ("__import__", "eval", "exec")
    ]
    return [
        f"{path}:{line}: {name} in a pure layer; take what is needed as an argument"
        for line, name in reached
        if within(name, (*RANDOM, "importlib"))
    ] + [f"{path}:{call.lineno}: {call.func.id} in a pure layer" for call in hidden]


def private_attributes(path, source):
    """Underscore attributes of something other than self, in a layer that has to be pure."""
    if not within(module_of(path), PURE):
        return []
    run_time = RunTime(path, source)
    touched = [
        (a.lineno, a.attr)
        for a in run_time.attributes
        if not (isinstance(a.value, ast.Name) and a.value.id in ("self", "cls"))
    ]
    for call in run_time.calls:
        if getattr(call.func, "id", "") in ("getattr", "setattr") and len(call.args) > 1:
            touched.append((call.lineno, str(getattr(call.args[1], "value", ""))))
        elif getattr(call.func, "id", "") == "vars":
            touched.append((call.lineno, "__dict__"))
    return [
        f"{path}:{line}: touches {name} of another object"
        for line, name in touched
        if name.startswith("_") and name not in HARMLESS
    ]


def vague_name(path, source):
    """Files named after no concept."""
    vague = PurePosixPath(path).stem.strip("_") in VAGUE
    return [f"{path}: name the file after the one thing it holds"] if vague else []


CHECKS = (forbidden_imports, randomness, private_attributes, vague_name)


def test_sources_are_found():
    assert PACKAGE


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_sources_obey(check):
    complaints = [c for p in SOURCES for c in check(p, (REPOSITORY / p).read_text())]
    assert not complaints, "\n" + "\n".join(complaints)


@pytest.mark.parametrize(
    ("check", "path", "source"),
    [
        (forbidden_imports, "skdp/solvers/gd.py", "from skdp.privacy.oracle import Oracle"),
        (forbidden_imports, "skdp/solvers/gd.py", "import skdp.privacy.ledger"),
        (forbidden_imports, "skdp/solvers/gd.py", "from ..privacy import randomness"),
        (forbidden_imports, "skdp/solvers/gd.py", "from .. import data"),
        (forbidden_imports, "skdp/solvers/gd.py", "from .. import problem\nimport skdp\nskdp.data"),
        (forbidden_imports, "skdp/solvers/__init__.py", "from ..data.base import RowStore"),
        (forbidden_imports, "skdp/solvers/gd.py", "def f():\n    from ..data import base"),
        (forbidden_imports, "skdp/solvers/gd.py", "if not TYPE_CHECKING:\n    import skdp.data"),
        (forbidden_imports, "skdp/solvers/gd.py", "if TYPE_CHECKING: 1\nelse: import skdp.data"),
        (forbidden_imports, "skdp/losses/l.py", "from ..privacy.schedules import fixed"),
        (forbidden_imports, "skdp/losses/l.py", "from ..problem import Problem"),
        (forbidden_imports, "skdp/regularizers/l2.py", "from ..privacy.mechanisms import gaussian"),
        (forbidden_imports, "skdp/constraints/box.py", "from skdp.solvers import GD"),
        (forbidden_imports, "skdp/problem.py", "from .privacy.ledger import Ledger"),
        (forbidden_imports, "skdp/privacy/oracle.py", "from ..solvers.gd import GD"),
        (forbidden_imports, "skdp/privacy/queries/q.py", "from ...estimators import base"),
        (forbidden_imports, "skdp/data/dense.py", "from ..privacy.ledger import Ledger"),
        (forbidden_imports, "skdp/privacy/opening.py", "from ..remote.site import Site"),
        (forbidden_imports, "skdp/solvers/dda.py", "from ..remote import DaskSites"),
        (forbidden_imports, "skdp/exceptions.py", "from .estimators.base import Base"),
        (forbidden_imports, "skdp/estimators/base.py", "from ..testing import ReplayOracle"),
        (forbidden_imports, "skdp/preprocessing/base.py", "from ..estimators import base"),
        (forbidden_imports, "skdp/privacy/oracle.py", "from ..preprocessing import base"),
        (forbidden_imports, "skdp/testing/check.py", "from skdp import DPLogisticRegression"),
        (forbidden_imports, "skdp/privacy/oracle.py", "from ..audit.tape import TapedOracle"),
        (forbidden_imports, "skdp/audit/programs.py", "from ..testing import record_fit"),
        (randomness, "skdp/solvers/gd.py", "import numpy as np\nnp.random.default_rng()"),
        (randomness, "skdp/solvers/gd.py", "from numpy import random as r"),
        (randomness, "skdp/solvers/gd.py", "from numpy.random import default_rng"),
        (randomness, "skdp/losses/l.py", "import random"),
        (randomness, "skdp/losses/l.py", "import os\nos.urandom(8)"),
        (randomness, "skdp/problem.py", "from secrets import randbits"),
        (randomness, "skdp/problem.py", "from sklearn.utils import check_random_state"),
        (randomness, "skdp/constraints/box.py", "__import__('random')"),
        (randomness, "skdp/constraints/box.py", "from importlib import import_module"),
        (private_attributes, "skdp/solvers/gd.py", "def f(oracle): return oracle._rows"),
        (private_attributes, "skdp/solvers/gd.py", "self.oracle._rows"),
        (private_attributes, "skdp/solvers/gd.py", "f.__globals__"),
        (private_attributes, "skdp/solvers/gd.py", "getattr(oracle, '_rows')"),
        (private_attributes, "skdp/solvers/gd.py", "vars(oracle)"),
        (vague_name, "skdp/solvers/utils.py", ""),
        (vague_name, "skdp/_common.py", ""),
        (vague_name, "tests/helpers.py", ""),
    ],
)
def test_planted_violation_is_caught(check, path, source):
    assert check(path, source)


@pytest.mark.parametrize(
    ("check", "path", "source"),
    [
        (forbidden_imports, "skdp/__init__.py", "from .estimators import DPLogisticRegression"),
        (forbidden_imports, "skdp/estimators/a.py", "from .base import B\nfrom ..data import base"),
        (forbidden_imports, "skdp/solvers/gd.py", "from ..privacy.schedules import geometric"),
        (forbidden_imports, "skdp/solvers/gd.py", "from ..problem import Problem"),
        (
            forbidden_imports,
            "skdp/solvers/gd.py",
            "if TYPE_CHECKING:\n    from ..privacy.oracle import Oracle",
        ),
        (forbidden_imports, "skdp/privacy/oracle.py", "from ..data.base import RowStore"),
        (forbidden_imports, "tests/test_x.py", "from skdp.estimators import base"),
        (
            randomness,
            "skdp/solvers/gd.py",
            "import numpy as np\ndef f(rng: np.random.Generator) -> np.random.Generator: ...",
        ),
        (randomness, "skdp/privacy/randomness.py", "import os\nos.urandom(8)"),
        (private_attributes, "skdp/solvers/gd.py", "self._step"),
        (private_attributes, "skdp/solvers/gd.py", "object.__setattr__(self, 'a', 1)"),
        (private_attributes, "skdp/privacy/oracle.py", "other._rows"),
        (vague_name, "skdp/solvers/gd.py", ""),
    ],
)
def test_law_abiding_source_passes(check, path, source):
    assert check(path, source) == []
