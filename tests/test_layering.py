"""The import law, read from the sources: what may know of what, and who may draw random numbers.

Each check takes a path inside the repository and a source text, and returns its complaints. The
second half of the file plants a violation for each check and expects it to be caught.
"""

import ast
import re
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path, PurePosixPath

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = [p.relative_to(REPOSITORY).as_posix() for p in (REPOSITORY / "skdp").rglob("*.py")]
SOURCES = PACKAGE + [
    p.relative_to(REPOSITORY).as_posix()
    for folder in ("tests", "examples")
    for p in (REPOSITORY / folder).rglob("*.py")
]

# Circles of trust, from the inside out. Each layer: what it may import, the longest match deciding.
ROOT = ("skdp.docstrings", "skdp.exceptions", "skdp.validation")
PROBLEM = (*ROOT, "skdp.problem")
# Files that say in ``__all__`` what they show, as folders do.
CONCEPTS = tuple(f"skdp.problem.{m}" for m in ("constraints", "losses", "mirror_maps", "penalties"))
# What the kernel declares to those who see public facts alone.
DECLARED = (
    *("skdp.privacy.adjacency", "skdp.privacy.accounting.calculus"),
    "skdp.privacy.accounting.subsampling",
    *("skdp.privacy.streams.stream_plan", "skdp.privacy.bandit_sessions.bandit_plans"),
    "skdp.privacy.mechanisms.mask_exposure",
)
GRAPHS = ("skdp.federated.gossip_rounds", "skdp.federated.topology")
SURFACE = (*PROBLEM, "skdp.privacy", "skdp.reporting")
MAY = {
    "skdp.docstrings": (),
    "skdp.exceptions": (),
    "skdp.validation": (),
    "skdp.problem": (*PROBLEM, *DECLARED),
    # The kernel: rows, noise and ledger. It knows problems, and nobody who asks about them.
    "skdp.privacy": (*PROBLEM, "skdp.privacy"),
    # Bookkeeping: reads receipts of whole fits, and neither rows nor noise.
    "skdp.reporting": (
        *ROOT, "skdp.reporting", "skdp.privacy.accounting", "skdp.privacy.adjacency",
    ),
    "skdp.solvers.defaults": (),
    "skdp.solvers.preconditioning": (
        *PROBLEM, "skdp.solvers.preconditioning", "skdp.solvers.defaults",
    ),
    "skdp.solvers": (
        *PROBLEM, "skdp.solvers", *DECLARED, *GRAPHS, "skdp.federated",
    ),
    "skdp.federated": (*PROBLEM, "skdp.federated", "skdp.privacy"),
    **dict.fromkeys(GRAPHS, (*PROBLEM, *GRAPHS, *DECLARED)),
    # Solvers see rows no more than policies do.
    "skdp.bandit.policies": (*PROBLEM, "skdp.bandit.policies", "skdp.solvers", *DECLARED),
    "skdp.bandit": (*SURFACE, "skdp.bandit", "skdp.solvers", "skdp.estimators"),
    "skdp.preprocessing": (*SURFACE, "skdp.preprocessing"),
    "skdp.estimators": (
        *SURFACE, "skdp.estimators", "skdp.solvers", "skdp.federated", "skdp.preprocessing",
    ),
    "skdp.model_selection": (
        *SURFACE, "skdp.model_selection", "skdp.estimators", "skdp.preprocessing",
        "skdp.federated",
    ),
    "skdp.model_selection.evaluation": (*SURFACE, "skdp.model_selection.evaluation"),
    "skdp.privatization": (
        *SURFACE, "skdp.privatization", "skdp.estimators", "skdp.solvers",
        "skdp.model_selection", "skdp.preprocessing",
    ),
    # Leaves: they run whole estimators, and nothing looks at them.
    "skdp.audit": ("skdp",),
    "skdp.testing": ("skdp",),
}  # fmt: skip
LEAVES = ("skdp.audit", "skdp.testing")
KERNEL = "skdp.privacy"
# Layers that must not hold rows or noise: what they return has to be post-processing.
PURE = ("skdp.solvers", "skdp.problem", "skdp.bandit.policies", *GRAPHS)
# Calls that look into rows, draw secret noise, or charge a ledger.
READS = {"blocks", "bounded", "combine", "evaluate", "evaluate_under", "partitions"}
DRAWS = {"chosen", "gumbel", "normal", "noisy_mean", "randomize", "rounded"}
CHARGES = {"charge"}
# What makes a ledger, a source of noise, an oracle or a row store. RemoteRows is none: rows stay
# at their sites, of which each keeps its own account.
MAKES = {
    "skdp.privacy.accounting.ledger.Ledger", "skdp.privacy.oracle.PrivateOracle",
    "skdp.privacy.randomness.SeededNoise", "skdp.privacy.randomness.SystemNoise",
    "skdp.privacy.randomness.secret_noise", "skdp.privacy.rows.chunked.ChunkedRows",
    "skdp.privacy.rows.dask_rows.DaskRows", "skdp.privacy.rows.in_memory.DenseRows",
    "skdp.privacy.rows.in_memory.SparseRows", "skdp.privacy.rows.in_memory.rows_in_memory",
    "skdp.privacy.rows.predicted_rows.PredictedRows",
    "skdp.privacy.sites.remote_oracle.RemoteOracle",
}  # fmt: skip
SUBMODULES = {p.stem for p in (REPOSITORY / "skdp").iterdir() if p.name != "__init__.py"}
RANDOM = ("numpy.random", "random", "secrets", "os.urandom", "sklearn.utils.check_random_state")
# Special names that lead to no hidden state.
HARMLESS = {"__init__", "__post_init__", "__setattr__", "__name__", "__qualname__", "__class__"}
# Module and names of an import from the package, on one line or in parentheses.
IMPORTS = re.compile(r"^\s*from\s+(skdp[\w.]*)\s+import\s+(\([^)]*\)|.*)$", re.MULTILINE)
VAGUE = {"utils", "helpers", "common"}


def module_of(path):
    """Dotted name of the module at a path."""
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def within(name, prefixes):
    """Whether a dotted name is one of the prefixes or lies below one."""
    return any(name == p or name.startswith(p + ".") for p in prefixes)


def layer_of(path):
    """The longest entry of MAY that holds the module; None outside the package."""
    return max((k for k in MAY if within(module_of(path), [k])), key=len, default=None)


@cache
@cache
def run_time_of(path, source):
    """What a source executes, read once for all checks."""
    return RunTime(path, source)


class RunTime(ast.NodeVisitor):
    """Walks what is executed: neither ``if TYPE_CHECKING:`` bodies nor annotations."""

    def __init__(self, path, source):
        self.path = path
        self.imports = []  # (line, absolute dotted name)
        self.names = {}  # local name -> absolute dotted name
        self.attributes = []  # every ast.Attribute
        self.calls = []  # every ast.Call
        self.loaded = []  # every ast.Name and ast.Attribute
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

    def visit_Name(self, node):
        self.loaded.append(node)

    def visit_Attribute(self, node):
        self.attributes.append(node)
        self.loaded.append(node)
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
    """Imports against the direction of the circles."""
    layer = layer_of(path)
    if layer is None or path == "skdp/__init__.py":
        return []
    run_time = run_time_of(path, source)
    reached = run_time.imports + [(a.lineno, run_time.dotted(a)) for a in run_time.attributes]
    ours = [(line, name) for line, name in reached if within(name, ["skdp"])]
    leaf = next((leaf for leaf in LEAVES if within(layer, [leaf])), None)
    return [
        f"{path}:{line}: {layer} may not import {name}"
        for line, name in ours
        if not within(name, MAY[layer])
        or any(within(name, [other]) for other in LEAVES if other != leaf)
        or (name.count(".") == 1 and name.split(".")[1] not in SUBMODULES)
    ]


def circle(sources):
    """Modules that import each other, wherever in their text; [] if there are none."""
    modules = {module_of(path) for path in sources}
    graph = {}
    for path, source in sources.items():
        reached = graph[module_of(path)] = set()
        for _, name in run_time_of(path, source).imports:
            while name and name not in modules:
                name = name.rpartition(".")[0]
            reached.add(name)
        reached -= {"", module_of(path)}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        return found.args[1]
    return []


def outside_the_kernel(path, source):
    """Calls outside the kernel that read rows, draw secret noise or charge a ledger."""
    if layer_of(path) in (None, KERNEL, *LEAVES) or path == "skdp/__init__.py":
        return []
    called = [
        call
        for call in run_time_of(path, source).calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in READS | DRAWS | CHARGES
    ]
    return [
        f"{path}:{call.lineno}: .{call.func.attr}() reads rows, draws noise or charges a ledger"
        for call in called
    ]


def made_outside_the_kernel(path, source):
    """Ledgers, sources of noise, oracles and row stores that the kernel does not make."""
    if layer_of(path) in (None, KERNEL, *LEAVES) or path == "skdp/__init__.py":
        return []
    run_time = run_time_of(path, source)
    # Naming it is enough, since whoever names it may call it later. Only isinstance makes nothing.
    asked = {
        id(name)
        for call in run_time.calls
        if getattr(call.func, "id", "") == "isinstance"
        for name in ast.walk(call.args[1])
    }
    found = [(n.lineno, run_time.dotted(n)) for n in run_time.loaded if id(n) not in asked]
    return [
        f"{path}:{line}: makes {name}; let skdp.privacy.oracle_factory open the fit"
        for line, name in found
        if name in MAKES
    ]


def randomness(path, source):
    """Random numbers drawn, or modules found by name, in a layer that has to be pure."""
    if not within(module_of(path), PURE):
        return []
    run_time = run_time_of(path, source)
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
    run_time = run_time_of(path, source)
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


def deep_imports(path, source):
    """Tests and examples import what a folder shows, so that code can move within it."""
    if path.startswith("skdp/"):
        return []
    complaints = []
    for module, names in IMPORTS.findall(source):
        shown = module in (*ROOT, *CONCEPTS) or (REPOSITORY / module.replace(".", "/")).is_dir()
        if not shown or re.search(r"\b_\w", names):
            complaints.append(f"{path}: {' '.join(names.split())} of {module}")
    return complaints


def vague_name(path, source):
    """Files named after no concept."""
    vague = PurePosixPath(path).stem.strip("_") in VAGUE
    return [f"{path}: name the file after the one thing it holds"] if vague else []


CHECKS = (
    forbidden_imports,
    outside_the_kernel,
    made_outside_the_kernel,
    randomness,
    private_attributes,
    vague_name,
    deep_imports,
)


def test_sources_are_found():
    assert PACKAGE


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_sources_obey(check):
    complaints = [c for p in SOURCES for c in check(p, (REPOSITORY / p).read_text())]
    assert not complaints, "\n" + "\n".join(complaints)


def test_file_names_are_unique():
    # A base is that of its folder. Policies are called like their options, as some solvers are.
    paths = [PurePosixPath(p) for p in PACKAGE if not p.startswith("skdp/bandit/policies/")]
    counts = Counter(p.stem for p in paths if p.stem not in ("__init__", "base"))
    assert [name for name, count in counts.items() if count > 1] == []


def test_no_modules_import_each_other():
    assert circle({path: (REPOSITORY / path).read_text() for path in PACKAGE}) == []


@pytest.mark.parametrize("way", ["from .gd import GD", "def f():\n    from . import GD"])
def test_modules_that_import_each_other_are_found(way):
    sources = {"skdp/solvers/__init__.py": "from .ppm import PPM", "skdp/solvers/ppm.py": way}
    assert circle(sources | {"skdp/solvers/gd.py": "from .ppm import PPM"})
    assert circle(sources | {"skdp/solvers/ppm.py": "", "skdp/solvers/gd.py": ""}) == []


@pytest.mark.parametrize("name", sorted(MAKES))
def test_makers_are_where_they_are_said_to_be(name):
    module, _, attribute = name.rpartition(".")
    assert getattr(import_module(module), attribute).__module__ == module


SOLVER, ESTIMATOR = "skdp/solvers/gd.py", "skdp/estimators/base.py"


@pytest.mark.parametrize(
    ("check", "path", "source"),
    [
        (forbidden_imports, SOLVER, "from skdp.privacy.oracle import Oracle"),
        (forbidden_imports, SOLVER, "import skdp.privacy.accounting.ledger"),
        (forbidden_imports, SOLVER, "def f():\n    from ..privacy import rows"),
        (forbidden_imports, SOLVER, "if TYPE_CHECKING: 1\nelse: import skdp.privacy.rows"),
        (forbidden_imports, "skdp/problem/losses/l.py", "from ...solvers.gd import GD"),
        (forbidden_imports, "skdp/privacy/oracle.py", "from ..solvers.gd import GD"),
        (forbidden_imports, "skdp/privacy/oracle_factory.py", "from ..reporting.total import T"),
        (forbidden_imports, "skdp/reporting/total.py", "from ..privacy.rows.base import RowStore"),
        (
            forbidden_imports,
            "skdp/reporting/total.py",
            "from ..privacy.randomness import SystemNoise",
        ),
        (forbidden_imports, "skdp/federated/topology.py", "from ..privacy.sites.site import Site"),
        (forbidden_imports, "skdp/exceptions.py", "from .estimators.base import Base"),
        (forbidden_imports, ESTIMATOR, "from ..testing import ReplayOracle"),
        (forbidden_imports, "skdp/testing/checks.py", "from skdp import DPLogisticRegression"),
        (forbidden_imports, "skdp/privacy/oracle.py", "from ..audit.recording import TapedOracle"),
        (forbidden_imports, "skdp/audit/programs.py", "from ..testing import record_fit"),
        (outside_the_kernel, SOLVER, "def f(store): return store.bounded(1)"),
        (outside_the_kernel, ESTIMATOR, "rows.blocks()"),
        (outside_the_kernel, ESTIMATOR, "noise.normal(3)"),
        (outside_the_kernel, "skdp/model_selection/base.py", "mechanism.randomize(x, noise)"),
        (outside_the_kernel, "skdp/preprocessing/base.py", "ledger.charge(event)"),
        *(
            (made_outside_the_kernel, path, source)
            for path in (ESTIMATOR, "skdp/preprocessing/base.py")
            for source in (
                "from ..privacy.accounting.ledger import Ledger\nLedger(1.0, 1e-5)",
                "from ..privacy.accounting import ledger as l\nl.Ledger(1.0, 1e-5)",
                "from ..privacy.randomness import secret_noise as s\ndef f(x): return s(x)",
                "from ..privacy.randomness import SeededNoise\nmade = {0: SeededNoise}",
                "from ..privacy.rows.in_memory import DenseRows as D\nD(X, y)",
                "from ..privacy.oracle import PrivateOracle\nPrivateOracle(r, l, a, n)",
            )
        ),
        (randomness, SOLVER, "import numpy as np\nnp.random.default_rng()"),
        (randomness, SOLVER, "from numpy.random import default_rng"),
        (randomness, "skdp/problem/losses/l.py", "import os\nos.urandom(8)"),
        (randomness, "skdp/problem/problem.py", "from secrets import randbits"),
        (randomness, "skdp/problem/problem.py", "from sklearn.utils import check_random_state"),
        (randomness, "skdp/problem/constraints/box.py", "__import__('random')"),
        (randomness, "skdp/problem/constraints/box.py", "from importlib import import_module"),
        (private_attributes, SOLVER, "def f(oracle): return oracle._rows"),
        (private_attributes, SOLVER, "self.oracle._rows"),
        (private_attributes, SOLVER, "f.__globals__"),
        (private_attributes, SOLVER, "getattr(oracle, '_rows')"),
        (private_attributes, SOLVER, "vars(oracle)"),
        (vague_name, "skdp/solvers/utils.py", ""),
        (vague_name, "skdp/_common.py", ""),
        (vague_name, "tests/helpers.py", ""),
        (deep_imports, "tests/test_x.py", "from skdp.privacy.oracle import PrivateOracle"),
        (deep_imports, "examples/x.py", "from skdp.solvers import _secret"),
        (deep_imports, "tests/test_x.py", "def f():\n    from skdp.solvers.gd import (\n GD)"),
        (deep_imports, "tests/test_x.py", "from skdp.solvers import (\n    GD,\n    _secret,\n)"),
    ],
)
def test_planted_violation_is_caught(check, path, source):
    assert check(path, source)
