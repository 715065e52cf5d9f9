"""Base of the displays: axes, new ones if none are given."""

from __future__ import annotations

from typing import Any

__all__ = ["ABOVE", "Display"]

# Inches.
_WIDTH, _BAR, _AROUND = 8.0, 0.3, 1.3
# Place of a legend that would hide bars.
ABOVE: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "frameon": False}


class Display:
    """Base of a display, whose ``plot`` leaves ``ax_`` and ``figure_``."""

    ax_: Any
    figure_: Any

    def _axes(
        self, ax: Any, bars: int | None = None, size: tuple[float, float] | None = None
    ) -> Any:
        """The axes to draw on; new ones of pyplot, as in scikit-learn, if None are given.

        For ``bars`` beside each other, each with a name, they are wide and as high as these need;
        else as ``size`` says, in inches.
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                raise ImportError(
                    f"{type(self).__name__}.plot needs matplotlib, which is not installed; pip "
                    "install 'skdp[plot]'."
                ) from None
            if bars is not None:
                size = (_WIDTH, _BAR * bars + _AROUND)
            _, ax = pyplot.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax
