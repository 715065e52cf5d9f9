"""Scripts written for scikit-learn's models run with private ones, constructors aside."""

import doctest
import importlib.util
import sys
import warnings
from pathlib import Path

import pytest
import sklearn.linear_model

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture(scope="module")
def runner():
    pytest.importorskip("matplotlib", reason="the scripts draw; they need matplotlib")
    spec = importlib.util.spec_from_file_location("run_privately", EXAMPLES / "run_privately.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def script_of(example):
    """The code in the docstring of a class, without what it printed."""
    return "".join(e.source for e in doctest.DocTestParser().get_examples(example.__doc__))


@pytest.mark.parametrize(
    "example",
    [
        sklearn.linear_model.LogisticRegression,
        sklearn.linear_model.LinearRegression,
        sklearn.linear_model.Lasso,
        sklearn.linear_model.Ridge,
        # Not LinearSVC, whose docstring looks up a pipeline's step by the name of its class.
    ],
    ids=lambda c: c.__name__,
)
def test_scikit_learns_own_docstrings_run(example, runner, tmp_path, monkeypatch):
    script = tmp_path / "script.py"
    script.write_text(script_of(example))
    ours = runner.PLACES[example.__name__][1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = runner.run(script, 1.0, None)
    assert [type(model) for model in fitted] == [ours] * len(fitted)
    assert fitted
    assert fitted[0].privacy_spent_.epsilon == 1.0
    # What stood in their places is gone.
    assert getattr(sys.modules[runner.PLACES[example.__name__][0].__name__], example.__name__) is (
        example
    )
