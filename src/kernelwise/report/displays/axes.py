"""The axes to draw on, the styles and the check of labels that displays share."""

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...reproduction.figures import COLOURS, DASHES, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Display:
    """A display draws on the given axes, or on new ones."""

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


def check_labels(labels: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """Labels as an array with one label for each row, or None."""
    checked = None if labels is None else np.asarray(labels)
    if checked is not None and checked.shape != (n_rows,):
        raise ValueError(f"labels must hold one label for each of {n_rows} rows, got {checked.shape}")
    return checked


def line_style(style: int) -> dict[str, Any]:
    """Colour, dashes and marker of a line; two lines can be told apart without their colours."""
    return {
        "color": COLOURS[style % len(COLOURS)],
        "linestyle": DASHES[style % len(DASHES)],
        "marker": MARKERS[style % len(MARKERS)],
        "markersize": 4,
        "linewidth": 1.4,
    }
