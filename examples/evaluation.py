"""How good is the model, and for whom? A private report card on the 1994 census extract.

A private model of incomes is fitted to the training rows, as in ``adult.py``, and evaluated on the
test rows, whose people are others: each set has a budget of its own. Then accuracy and the share of
people who are predicted to earn much are compared between the sexes. Reads ``adult_raw.csv.gz``
from the folder named by the environment variable SKDP_DATA, else from ``shared/data`` beside the
repository, else the copy of OpenML. Plots need ``pip install 'skdp[plot]'``.

    python examples/evaluation.py --plot report.png
"""

import argparse

import numpy as np
from adult import preparation
from census import LABELS, table
from sklearn.pipeline import make_pipeline

import skdp


def evaluated(test, model, **options):
    """A private evaluation; preparation is of one row at a time and learns nothing."""
    return skdp.evaluate(
        model, test, test["income"], epsilon=0.5, pointwise=True, public_model=True, **options
    )


def drawn(scores, groups, place):
    """ROC curve, calibration, confusion matrix and selection rates in one figure."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot
    from sklearn.metrics import ConfusionMatrixDisplay, RocCurveDisplay

    figure, axes = pyplot.subplots(2, 2, figsize=(9, 8), layout="constrained")
    curve, area = scores.roc_curve, scores.scores["roc_auc"].value
    RocCurveDisplay(fpr=curve.fpr, tpr=curve.tpr, roc_auc=area).plot(ax=axes[0, 0])
    axes[0, 0].fill_between(curve.fpr, curve.tpr_low, curve.tpr_high, alpha=0.2)

    bins = scores.calibration_curve
    told, half = (bins.edges[1:] + bins.edges[:-1]) / 2, np.diff(bins.edges) / 2
    reach = np.array([bins.share - bins.low, bins.high - bins.share])
    axes[0, 1].plot([0, 1], [0, 1], ":", color="0.6")
    axes[0, 1].errorbar(told, bins.share, reach, half, fmt="o")
    axes[0, 1].set(xlabel="Predicted probability", ylabel="Share of the second class")

    matrix = scores.confusion_matrix
    shown = ConfusionMatrixDisplay(matrix.counts, display_labels=matrix.classes)
    shown.plot(ax=axes[1, 0], values_format=".0f", colorbar=False, cmap="Blues")

    rates = {label: found["selection_rate"] for label, found in groups.by_group.items()}
    value, low, high = np.array([*rates.values()]).T
    axes[1, 1].errorbar(value, [*rates], xerr=[value - low, high - value], fmt="o", capsize=4)
    axes[1, 1].set(xlabel="Selection rate", ylim=(-0.5, len(rates) - 0.5))
    axes[1, 1].locator_params(axis="x", nbins=5)
    figure.savefig(place, dpi=90)
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plot", help="where to save the plots; they need matplotlib")
    args = parser.parse_args()
    people = table()
    train, test = (people[people["split"] == part] for part in ("train", "test"))
    private = skdp.DPLogisticRegression(epsilon=1.0, delta=1e-5, data_norm=1.0, classes=LABELS)
    model = make_pipeline(*preparation(), private).fit(train, train["income"])

    with skdp.PrivacyBudget(epsilon=1.0, delta=1e-5) as budget:
        scores = evaluated(test, model)
        metrics = ["accuracy", "selection_rate", "true_positive_rate"]
        sexes = {"groups": test["sex"], "group_values": ["Female", "Male"]}
        groups = evaluated(test, model, metrics=metrics, **sexes)
    print(scores.summary())
    print()
    for name in metrics:
        gap = groups.difference(name, "Male", "Female")
        print(f"{name}, men less women: {gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]")
    print(f"\nthe model, of the training rows: {private.privacy_spent_}")
    print(f"both evaluations, of the test rows: {budget.spent}")
    if args.plot:
        drawn(scores, groups, args.plot)


if __name__ == "__main__":
    main()
