"""Reports that earlier versions have written can still be recomputed."""

import json
import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "recompute_report.py"
CHECK = runpy.run_path(str(SCRIPT))["check"]
FILED = sorted((Path(__file__).parent / "filed").glob("*.json"))


@pytest.mark.parametrize("path", FILED, ids=lambda path: path.stem)
def test_a_filed_report_amounts_to_what_it_states(path):
    CHECK(json.loads(path.read_text()))


@pytest.mark.parametrize("path", FILED, ids=lambda path: path.stem)
def test_a_filed_report_that_was_tampered_with_is_noticed(path):
    filed = json.loads(path.read_text())
    filed["fits"][0]["events"][0]["noise_scale"] /= 2
    with pytest.raises(SystemExit):
        CHECK(filed)


def test_the_script_alone_says_how_it_is_called(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["recompute_report.py"])
    with pytest.raises(SystemExit, match=r"recompute_report\.py report\.json"):
        runpy.run_path(str(SCRIPT), run_name="__main__")


def test_each_rule_that_the_script_knows_has_been_filed():
    rules = {json.loads(path.read_text())["rule"] for path in FILED}
    assert rules == {"gaussian", "concentrated", "perturbation"}
