"""Figures of results: panels of lines with one legend; the same numbers give the same bytes.

This module needs matplotlib: ``pip install kernelwise[report]``.
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Those colours of Okabe and Ito, which colour-blind readers can tell apart, that have a contrast of 3 to 1 on white
#: (without the sky blue, the orange and the yellow).
COLOURS = ("#0072B2", "#D55E00", "#007A59", "#A8528A", "#000000", "#8A6A00", "#5A5A5A")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


@dataclass(frozen=True)
class Line:
    """One line of a panel: its points, and half the height of the band around the line."""

    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] | None = None


def mean_lines(trials: Iterable[tuple[str, str, Any, float]]) -> dict[str, dict[str, Line]]:
    """Return the lines of the means of trials; the bands are their standard deviations.

    A trial is the title of a panel, the name of a line, the place on the horizontal axis, and a value.
    """
    panels: dict[str, dict[str, dict[Any, list[float]]]] = {}
    for title, name, x, value in trials:
        panels.setdefault(title, {}).setdefault(name, {}).setdefault(x, []).append(value)
    return {title: {name: _mean_line(found) for name, found in lines.items()} for title, lines in panels.items()}


def _mean_line(values: Mapping[Any, Sequence[float]]) -> Line:
    places = sorted(values)
    return Line(places, *([float(summary(values[x])) for x in places] for summary in (np.mean, np.std)))


def line_panels(
    panels: Mapping[str, Mapping[str, Line]],
    *,
    xlabel: str,
    ylabel: str,
    log_x: bool = False,
    log_y: bool = False,
    columns: int = 3,
) -> "Figure":
    """Draw one panel per data set; a name has the same colour, marker and dashes in all panels."""
    if not panels:
        raise ValueError("panels is empty; there is nothing to draw")
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    figure = blank_figure(3.2 * columns + 0.09 * max(map(len, names), default=0), 2.9 * rows)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes, (title, lines) in zip(grid.flat, panels.items(), strict=False):
        style_axes(axes, title)
        if log_x:
            axes.set_xscale("log")
        if log_y:
            axes.set_yscale("log")
        for name, line in lines.items():
            _draw_line(axes, line, name, names.index(name), positive_y=log_y)
        axes.tick_params(labelbottom=True)
    for axes in list(grid.flat)[len(panels) :]:
        axes.remove()
    drawn = {line.get_label(): line for axes in figure.axes for line in axes.get_lines()}
    figure.legend([drawn[name] for name in names], names, loc="outside right upper", fontsize=8, frameon=False)
    figure.supxlabel(xlabel, fontsize=10)
    figure.supylabel(ylabel, fontsize=10)
    return figure


def _draw_line(axes: "Axes", line: Line, name: str, style: int, *, positive_y: bool) -> None:
    x, y = np.asarray(line.x, dtype=float), np.asarray(line.y, dtype=float)
    shown = y > 0 if positive_y else np.isfinite(y)
    colour = COLOURS[style % len(COLOURS)]
    axes.plot(
        x[shown],
        y[shown],
        label=name,
        color=colour,
        linestyle=DASHES[style % len(DASHES)],
        marker=MARKERS[style % len(MARKERS)],
        markevery=max(1, int(shown.sum()) // 6),
        markersize=4,
        linewidth=1.4,
    )
    if line.spread is not None:
        spread = np.asarray(line.spread, dtype=float)
        axes.fill_between(x[shown], (y - spread)[shown], (y + spread)[shown], color=colour, alpha=0.12, linewidth=0)


def render(figure: "Figure", kind: str, *, title: str) -> bytes:
    """Return the figure as "svg" or "png", without dates and versions: the same numbers give the same bytes.

    The title is kept in the metadata, for readers who cannot see the figure.
    """
    import matplotlib

    metadata: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Creator": None, "Title": title},
        "png": {"Software": None, "Title": title},
    }
    if kind not in metadata:
        raise ValueError(f'kind must be "svg" or "png", got {kind!r}')
    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "kernelwise", "font.family": "DejaVu Sans"}):
        figure.savefig(stream, format=kind, dpi=150, metadata=metadata[kind])
    return stream.getvalue()


def blank_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of this size in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install kernelwise[report]") from error
    return Figure(figsize=(width, height), layout="constrained")


def style_axes(axes: "Axes", title: str, *, grid: Literal["both", "x", "y"] = "y") -> None:
    """Give axes a title, a light grid and small labels, without a frame at the top and at the right."""
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="#dddddd", linewidth=0.6)
    axes.tick_params(labelsize=8)
