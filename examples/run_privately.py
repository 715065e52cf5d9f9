"""Run scripts that use scikit-learn's linear models, with private ones in their place.

    python examples/run_privately.py plot_iris_logistic.py plot_linearsvc_support_vectors.py \
        --epsilon 4 --figures out

The scripts stay as they are: only the constructors that they import stand for others, which make
what ``skdp.privatize`` makes of theirs. Meant for the gallery of scikit-learn, whose files are in
``examples/linear_model`` and ``examples/svm`` of its repository. Bounds and classes are not given,
as nobody who wrote the scripts knew of them, so each fit warns and pays for its bounds.
"""

from __future__ import annotations

import argparse
import runpy
import warnings
from pathlib import Path
from unittest.mock import patch

import sklearn.linear_model
import sklearn.svm

import skdp

# Constructors of scikit-learn, and of what stands in their places.
PLACES = {
    "LogisticRegression": (sklearn.linear_model, skdp.DPLogisticRegression),
    "LinearRegression": (sklearn.linear_model, skdp.DPLinearRegression),
    "Ridge": (sklearn.linear_model, skdp.DPLinearRegression),
    "Lasso": (sklearn.linear_model, skdp.DPLassoRegressor),
    "LinearSVC": (sklearn.svm, skdp.DPSVMClassifier),
}


def stand_in(original, epsilon, fitted):
    """A constructor in place of scikit-learn's."""

    def construct(*args, **parameters):
        made = skdp.privatize(original(*args, **parameters), epsilon=epsilon)
        fitted.append(made)
        return made

    return construct


def run(script, epsilon, figures):
    """Run one script; returns the models that it fitted."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    made = []
    plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patches = [
            patch.object(module, name, stand_in(getattr(module, name), epsilon, made))
            for name, (module, _) in PLACES.items()
        ]
        for p in patches:
            p.start()
        try:
            runpy.run_path(str(script), run_name="__main__")
        finally:
            for p in patches:
                p.stop()
    if figures is not None:
        figures.mkdir(exist_ok=True)
        for number in plt.get_fignums():
            plt.figure(number).savefig(figures / f"{Path(script).stem}_{number}.png", dpi=80)
    return [model for model in made if hasattr(model, "privacy_spent_")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scripts", nargs="+", type=Path)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--figures", type=Path, help="folder for figures")
    arguments = parser.parse_args()
    for script in arguments.scripts:
        print(f"==== {script.name} ====")
        for model in run(script, arguments.epsilon, arguments.figures):
            epsilon, delta = model.privacy_spent_
            print(f"{type(model).__name__} has spent epsilon={epsilon:.4g}, delta={delta:g}.")


if __name__ == "__main__":
    main()
