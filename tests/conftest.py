"""Settings and fixtures that all tests share."""

import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every machine, and no gate on the clock.
settings.register_profile("skdp", derandomize=True, deadline=None, database=None)
settings.load_profile("skdp")


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
