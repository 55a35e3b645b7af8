"""What all displays share: axes to draw on, and styles of lines."""

from typing import TYPE_CHECKING, Any, cast

from ...reproduction.figures import COLOURS, DASHES, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Display:
    """Axes to draw on: those that are given, or new ones."""

    ax_: "Axes"
    figure_: "Figure"

    def _start(self, ax: "Axes | None", *, xlabel: str = "", ylabel: str = "", title: str = "") -> "Axes":
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError("displays need matplotlib: pip install kernelwise[report]") from error
            ax = plt.subplots(layout="constrained")[1]
        ax.set(xlabel=xlabel, ylabel=ylabel)
        ax.set_title(title, loc="left", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, cast("Figure", ax.get_figure(root=True))
        return ax


def line_style(style: int) -> dict[str, Any]:
    """Colour, dashes and marker of a line; lines of different numbers can be told apart without colours."""
    return {
        "color": COLOURS[style % len(COLOURS)],
        "linestyle": DASHES[style % len(DASHES)],
        "marker": MARKERS[style % len(MARKERS)],
        "markersize": 4,
        "linewidth": 1.4,
    }
