"""The pictures of "How noisy is my data?": python -m benchmarks.noise figures."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kernelwise import NoisyLabelClassifier, datasets
from kernelwise.papers.figures import COLOURS, render

from .noise import generator, noisy_labels
from .run import FOLDER
from .tables import common, load

OUTPUT = Path(__file__).parents[2] / "docs" / "images"
LEVELS = {"sym10": "10 %", "sym20": "20 %", "sym30": "30 %", "sym40": "40 %"}
KINDS = {"sym": "any label alike", "class": "one class more often", "instance": "near the boundary"}
BUNDLED = ("australian", "breast_cancer", "heart", "ionosphere", "sonar")


def draw_all() -> list[Path]:
    """Write every figure and return where."""
    fits = bundled_fits()
    figures = {
        "noise-estimates": (draw_estimates(), "Estimated against true share of wrong labels, spare sets"),
        "audit-precision": (draw_precision(fits), "Audit: precision against the share reviewed, five bundled sets"),
        "noise-bracket": (draw_bracket(fits), "The true share between the least and the largest noise rate"),
    }
    OUTPUT.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, (figure, title) in figures.items():
        paths.append(OUTPUT / f"{name}.png")
        paths[-1].write_bytes(render(figure, "png", title=title))
    return paths


def draw_estimates() -> Figure:
    """Estimates of kernelwise and of cleanlab against the truth, one point per cell of the spare sets."""
    records = common(load("spare", ["kernelwise", "cleanlab_svc"], FOLDER, FOLDER))
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    grid = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, method, title in zip(
        grid, ("kernelwise", "cleanlab_svc"), ("kernelwise", "cleanlab, RBF SVC"), strict=True
    ):
        for colour, (kind, label) in zip(COLOURS, KINDS.items(), strict=False):
            own = [record for (_, noise, _), record in records[method].items() if noise.startswith(kind)]
            x = [record["true_noise_rate"] for record in own]
            y = [record["noise_rate"] for record in own]
            axes.plot(x, y, "o", markersize=3.5, alpha=0.5, markeredgewidth=0, color=colour, label=label)
        axes.plot([0, 0.5], [0, 0.5], color="#000000", linewidth=0.8)
        finish(axes, title)
    grid[0].legend(title="which labels are wrong", fontsize=8, title_fontsize=8, frameon=False)
    figure.supxlabel("true share of wrong labels", fontsize=9)
    figure.supylabel("estimated share", fontsize=9)
    return figure


def bundled_fits() -> list[dict[str, Any]]:
    """A model per bundled set and noise, with what it is to be judged by."""
    found = []
    for name in BUNDLED:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        for noise in (*LEVELS, "instance"):
            given = noisy_labels(noise, X, y, 0, generator(name, noise, 0))
            model = NoisyLabelClassifier(random_state=0).fit(X, given)
            found.append({"set": name, "noise": noise, "wrong": given != y, "model": model})
    return found


def draw_precision(fits: list[dict[str, Any]]) -> Figure:
    """The share of wrong labels among those reviewed so far, most suspect first; mean of the five sets."""
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    grid = figure.subplots(1, 2, sharex=True, sharey=True)
    shares = np.linspace(0.01, 1.0, 100)
    for colour, (noise, label) in zip(COLOURS, LEVELS.items(), strict=False):
        precision, recall = [], []
        for fit in (fit for fit in fits if fit["noise"] == noise):
            wrong = fit["wrong"][np.argsort(fit["model"].label_quality_, kind="stable")]
            reviewed = np.maximum(1, np.round(shares * len(wrong)).astype(int))
            found = np.cumsum(wrong)[reviewed - 1]
            precision.append(found / reviewed)
            recall.append(found / wrong.sum())
        for axes, values in zip(grid, (precision, recall), strict=True):
            axes.plot(100 * shares, np.mean(values, axis=0), color=colour, linewidth=1.5, label=f"{label} wrong")
    finish(grid[0], "of those reviewed, share that is wrong")
    finish(grid[1], "of the wrong ones, share that is found")
    grid[1].legend(fontsize=8, frameon=False, loc="lower right")
    figure.supxlabel("reviewed, % of all labels, most suspect first", fontsize=9)
    return figure


def draw_bracket(fits: list[dict[str, Any]]) -> Figure:
    """The range from the least to the largest noise rate, the estimate in it, and the truth."""
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    grid = figure.subplots(1, 2, sharey=True)
    for axes, noise, title in zip(
        grid, ("sym20", "instance"), ("20 %, any label alike", "25 %, near the boundary"), strict=True
    ):
        own = [fit for fit in fits if fit["noise"] == noise]
        for row, fit in enumerate(own):
            model = fit["model"]
            ends = [model.diagnostic_[end] for end in ("least_noise_rate", "largest_noise_rate")]
            axes.plot(ends, [row, row], color=COLOURS[0], linewidth=5)
            axes.plot(
                model.noise_rate_, row, "o", color=COLOURS[0], markersize=8, label="estimate" if row == 0 else None
            )
            axes.plot(
                fit["wrong"].mean(), row, "D", color=COLOURS[1], markersize=7, label="truth" if row == 0 else None
            )
        axes.set_yticks(range(len(own)), [fit["set"].replace("_", " ") for fit in own])
        axes.set_xlim(0, 0.5)
        finish(axes, title)
    grid[0].legend(fontsize=8, frameon=False)
    figure.supxlabel(
        "share of wrong labels; the bar goes from diagnostic_['least_noise_rate'] to ['largest_noise_rate']", fontsize=9
    )
    return figure


def finish(axes: Any, title: str) -> None:
    """The look that all panels share."""
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
