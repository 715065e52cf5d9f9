"""The example of three hospitals runs to its end, as a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="needs dask: pip install 'skdp[dask]'")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "hospitals.py"


@pytest.mark.nightly
def test_three_hospitals_learn_one_model():
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "300 messages" in done.stdout
    assert done.stdout.count("epsilon=1.000") == 3
    assert "Traceback" not in done.stderr
