"""Base of the displays: axes, new ones if none are given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self, final

# Inches.
_WIDTH, _BAR, _AROUND = 8.0, 0.3, 1.3
# Place of a legend that would hide bars.
ABOVE: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "frameon": False}


class Display(ABC):
    """Base of a display, whose ``plot`` leaves ``ax_`` and ``figure_``."""

    # Inches of new axes; None leaves them to pyplot.
    _size: ClassVar[tuple[float, float] | None] = None

    ax_: Any
    figure_: Any

    @final
    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default new ones.

        Returns
        -------
        self
            With ``ax_`` and ``figure_``.
        """
        ax = self._axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax)
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on axes."""

    @property
    def _bars(self) -> int:
        """Number of bars beside each other, each with a name, which new axes are as high as."""
        return 0

    @final
    def _axes(self, ax: Any) -> Any:
        """The axes to draw on; new ones of pyplot, as in scikit-learn, if None are given."""
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                raise ImportError(
                    f"{type(self).__name__}.plot needs matplotlib, which is not installed; pip "
                    "install 'skdp[plot]'."
                ) from None
            size = (_WIDTH, _BAR * self._bars + _AROUND) if self._bars else self._size
            _, ax = pyplot.subplots(figsize=size, layout="constrained")
        return ax
