"""Plots of a private evaluation. They need matplotlib, which is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .scores import CalibrationCurve, ConfusionMatrix, RocCurve, Score

_ACCENT, _GUIDE = "C0", "0.6"
# Inches of new axes.
_SIZE = (4.5, 4.2)


def axes_for(plot: str, ax: Any) -> Any:
    """The axes to draw on; new ones of pyplot, as in scikit-learn, if None are given.

    Parameters
    ----------
    plot : str
        Who draws.
    ax : matplotlib axes or None
        Those that the caller was given.
    """
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise ImportError(
                f"{plot} needs matplotlib, which is not installed; pip install 'skdp[plot]'."
            ) from None
        _, ax = pyplot.subplots(figsize=_SIZE, layout="constrained")
    return ax


def draw_roc_curve(ax: Any, curve: RocCurve, area: Score | None) -> None:
    """Draw a ROC curve; bars are the intervals of both rates, and the legend names the area."""
    label = "released"
    if area is not None:
        value, low, high = area
        label = f"AUC {value:.3f} [{low:.3f}, {high:.3f}]"
    seen = np.isfinite(curve.tpr_low) & np.isfinite(curve.fpr_low)
    x, y = curve.fpr, curve.tpr
    ax.plot([0, 1], [0, 1], color=_GUIDE, linestyle=":", linewidth=1, zorder=1)
    across = np.array([x - curve.fpr_low, curve.fpr_high - x])
    along = np.array([y - curve.tpr_low, curve.tpr_high - y])
    ax.errorbar(
        x[seen], y[seen], np.maximum(along[:, seen], 0), np.maximum(across[:, seen], 0),
        fmt="none", ecolor=_ACCENT, alpha=0.5, linewidth=1.5, zorder=2,
    )  # fmt: skip
    ax.plot(x, y, color=_ACCENT, marker=".", markersize=4, label=label, zorder=3)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set(xlabel="False positive rate", ylabel="True positive rate")
    ax.legend(loc="lower right", frameon=False)


def draw_calibration_curve(ax: Any, curve: CalibrationCurve) -> None:
    """Draw shares of the second class by predicted probability; bars span the bins."""
    seen = np.isfinite(curve.low)
    middle, half = (curve.edges[1:] + curve.edges[:-1]) / 2, np.diff(curve.edges) / 2
    ax.plot([0, 1], [0, 1], color=_GUIDE, linestyle=":", linewidth=1, label="calibrated")
    reach = np.array([curve.share - curve.low, curve.high - curve.share])
    ax.errorbar(
        middle[seen], curve.share[seen], reach[:, seen], half[seen],
        fmt="o", color=_ACCENT, markersize=4, linewidth=1.2, label="released",
    )  # fmt: skip
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set(xlabel="Predicted probability", ylabel="Share of the second class")
    if not seen.any():
        ax.text(0.5, 0.3, "hidden by noise", ha="center", va="center", color=_GUIDE)
    ax.legend(loc="upper left", frameon=False)


def draw_confusion_matrix(ax: Any, matrix: ConfusionMatrix) -> None:
    """Draw numbers of rows by label and prediction, each with half the width of its interval."""
    shares = np.maximum(matrix.counts, 0) / max(float(matrix.counts.max()), 1.0)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (i, j), count in np.ndenumerate(matrix.counts):
        half = (matrix.high[i, j] - matrix.low[i, j]) / 2
        colour = "white" if shares[i, j] > 0.6 else "black"
        ax.text(j, i, f"{count:.0f}\n±{half:.0f}", ha="center", va="center", color=colour)
    ticks = range(len(matrix.classes))
    ax.set_xticks(ticks, [str(label) for label in matrix.classes])
    ax.set_yticks(ticks, [str(label) for label in matrix.classes])
    ax.set(xlabel="Predicted class", ylabel="Label")


def draw_groups(ax: Any, metric: str, scores: dict[Any, Score]) -> None:
    """Draw a score by group, with intervals."""
    found = np.array(list(scores.values()), dtype=float)
    places = np.arange(len(found))
    seen = np.isfinite(found[:, 1])
    reach = np.array([found[:, 0] - found[:, 1], found[:, 2] - found[:, 0]])
    ax.errorbar(
        found[seen, 0], places[seen], xerr=reach[:, seen],
        fmt="o", color=_ACCENT, markersize=4, capsize=4,
    )  # fmt: skip
    for place in places[~seen]:
        ax.text(
            0.5, place, "hidden by noise", ha="center", va="center", color=_GUIDE,
            transform=ax.get_yaxis_transform(),
        )  # fmt: skip
    ax.set_yticks(places, [str(label) for label in scores])
    ax.set(ylim=(len(found) - 0.5, -0.5), xlabel=metric.replace("_", " ").capitalize())
    ax.margins(x=0.3)
