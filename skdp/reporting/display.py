"""Base of the displays: axes, new ones if none are given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self, final


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
            _, ax = pyplot.subplots(figsize=self._size, layout="constrained")
        return ax
