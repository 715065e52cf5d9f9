"""How good is the model, and for whom? A private report card on the 1994 census extract.

A private model of incomes is fitted to the training rows, as in ``adult.py``, and evaluated on the
test rows, whose people are others: each set has a budget of its own. Then accuracy and the share of
people who are predicted to earn much are compared between the sexes. Reads ``adult_raw.csv.gz``
from the folder named by the environment variable SKDP_DATA, else from ``shared/data`` beside the
repository, else the copy of OpenML. Plots need ``pip install 'skdp[plot]'``.

    python examples/evaluation.py --plot report.png
"""

import argparse

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
    """The four plots in one figure."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(9, 8), layout="constrained")
    scores.plot_roc_curve(axes[0, 0])
    scores.plot_calibration_curve(axes[0, 1])
    scores.plot_confusion_matrix(axes[1, 0])
    groups.plot_groups("selection_rate", axes[1, 1])
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
