"""Settings and fixtures that all tests share."""

import gc
import importlib.util
import os
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
# The same examples on every machine, and no gate on the clock.
settings.register_profile("skdp", derandomize=True, deadline=None, database=None, max_examples=50)
settings.load_profile("skdp")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give all tests of a file to one worker, so that they share what is fitted or cached there."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


def pytest_collection_finish():
    """Leave modules and cases, which stay to the end, out of all garbage collections."""
    gc.collect()
    gc.freeze()


def parameters(item):
    """Which value each ``parametrize`` of a test gives to a case.

    A list of cases written down in one place, for several names at once, is one parameter.
    """
    names = [mark.args[0] for mark in item.iter_markers("parametrize")]
    names = [n.replace(",", " ").split() if isinstance(n, str) else n for n in names]
    values = dict(item.callspec.params)
    together = {tuple(n): tuple(id(values.pop(name)) for name in n) for n in names}
    return together | {(name,): (id(value),) for name, value in values.items()}


def covering(cases):
    """A few of the cases in which each value of each parameter occurs.

    Values are taken together that were taken least often before.
    """
    missing = {item for case in cases for item in case.items()}
    if len(cases) == 1 or len(cases[0]) == 1:
        return cases
    often, chosen = Counter(), []
    while missing:
        best = max(
            cases,
            key=lambda case: (
                sum(item in missing for item in case.items()),
                -sum(often[item] for item in case.items()),
            ),
        )
        chosen.append(best)
        often.update(best.items())
        missing.difference_update(best.items())
    return chosen


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave most combinations of several parameters, and most of many slow cases, to the night."""
    cases, slow = defaultdict(list), defaultdict(list)
    for item in items:
        kept = any(item.get_closest_marker(name) for name in ("nightly", "every_combination"))
        if hasattr(item, "callspec") and not kept:
            if item.get_closest_marker("by_day"):
                slow[item.parent, item.originalname].append(item)
            else:
                cases[item.parent, item.originalname].append((item, parameters(item)))
    for of_one_test in cases.values():
        chosen = covering([case for _, case in of_one_test])
        for item, case in of_one_test:
            if case not in chosen:
                item.add_marker(pytest.mark.nightly)
    for of_one_test in slow.values():
        (few,) = of_one_test[0].get_closest_marker("by_day").args
        chosen = {k * len(of_one_test) // few for k in range(few)}
        for k, item in enumerate(of_one_test):
            if k not in chosen:
                item.add_marker(pytest.mark.nightly)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Draw what the operating system would from the name of the test, so that none fails by chance.

    A forked child, which would repeat what its parent draws, and other processes ask the system.
    """
    drawn, system, process = random.Random(item.nodeid), os.urandom, os.getpid()

    def urandom(size):
        return drawn.randbytes(size) if os.getpid() == process else system(size)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "urandom", urandom)
        # What numpy seeds itself with, through random.SystemRandom.
        patched.setattr(random, "_urandom", urandom)
        return (yield)


@pytest.fixture(autouse=True)
def no_budget_left_open():
    """Fails a test that leaves a privacy budget to the workers of all tests after it."""
    yield
    assert "SKDP_OPEN_BUDGETS" not in os.environ


def modules_of(folder):
    """A function that imports modules of a folder, which are forgotten after the test."""
    path, before = sys.path.copy(), set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.delenv("SKDP_PEERS", raising=False)
        yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(EXAMPLES) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    # Some put other folders in front.
    sys.path[:] = path


@pytest.fixture
def example():
    """``example(name)``: a module of the examples."""
    yield from modules_of(EXAMPLES)


@pytest.fixture
def piece():
    """``piece(name)``: a module of the benchmarks."""
    yield from modules_of(EXAMPLES / "benchmarks")


@pytest.fixture
def paper():
    """``paper(name)``: the module of a recipe."""
    yield from modules_of(EXAMPLES / "papers")


@pytest.fixture(scope="session")
def real_data():
    """``load(name, split=None, dtype=float32) -> X, y`` of the benchmark data; skips without it.

    The folder is named by the environment variable SKDP_DATA, else it is ``shared/data`` beside
    the repository.
    """
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SKDP_DATA") or beside)
    if not (folder / "load.py").is_file():
        pytest.skip(
            "needs the benchmark data; set SKDP_DATA to the folder that holds them and load.py"
        )
    spec = importlib.util.spec_from_file_location("skdp_benchmark_data", folder / "load.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load
