"""Scripts written for scikit-learn's models run with private ones, constructors aside."""

import doctest
import sys
import warnings

import pytest
import sklearn.linear_model


@pytest.fixture
def runner(example):
    pytest.importorskip("matplotlib", reason="the scripts draw; they need matplotlib")
    return example("run_privately")


def script_of(example):
    """The code in the docstring of a class, without what it printed."""
    return "".join(e.source for e in doctest.DocTestParser().get_examples(example.__doc__))


@pytest.mark.parametrize(
    "documented",
    [
        sklearn.linear_model.LogisticRegression,
        sklearn.linear_model.LinearRegression,
        sklearn.linear_model.Lasso,
        sklearn.linear_model.Ridge,
        # Not LinearSVC, whose docstring looks up a pipeline's step by the name of its class.
    ],
    ids=lambda c: c.__name__,
)
def test_scikit_learns_own_docstrings_run(documented, runner, tmp_path, monkeypatch):
    script = tmp_path / "script.py"
    script.write_text(script_of(documented))
    ours = runner.PLACES[documented.__name__][1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = runner.run(script, 1.0, None)
    assert [type(model) for model in fitted] == [ours] * len(fitted)
    assert fitted
    assert fitted[0].privacy_spent_.epsilon == 1.0
    # What stood in their places is gone.
    module = runner.PLACES[documented.__name__][0].__name__
    assert getattr(sys.modules[module], documented.__name__) is documented
