"""Draw the figures on the cards of the documentation's first page: ``python tools/make_figures.py``.

The figures are drawn from bundled data and written to ``docs/images``. The program takes some minutes.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

from kernelwise import PairCompleter, Pairs, audit_labels, audit_pairs, flip_labels
from kernelwise.datasets import load_australian, load_cora

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE, DPI, N_COLOURS = (4.0, 2.5), 160, 32
OURS, CHANCE = "#0072B2", "#767676"
SAME, DIFFERENT = "#0b4f8a", "#e8a585"


def labels() -> Figure:
    """Wrong labels found against labels checked, with a fifth of the labels wrong."""
    X, truth = load_australian(return_X_y=True)
    y = flip_labels(truth, 0.2, random_state=0)
    wrong, order = y != truth, audit_labels(X, y, random_state=0).order
    figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
    ax.plot(np.arange(len(y) + 1), [0, *wrong[order].cumsum()], color=OURS, linewidth=2)
    ax.plot([0, len(y)], [0, wrong.sum()], color=CHANCE, linestyle="--")
    ax.text(190, 0.74 * wrong.sum(), "most suspect first", color=OURS)
    ax.text(400, 0.42 * wrong.sum(), "in any order", color=CHANCE)
    ax.set(xlabel="labels checked", ylabel="wrong labels found", xlim=(0, len(y)), ylim=(0, 1.1 * wrong.sum()))
    return figure


def links() -> Figure:
    """Wrong citations among all citations, and among those that the audit suspects most."""
    papers = load_cora()
    citations = Pairs.from_graph(papers.edges, n_samples=len(papers.target), negatives=None)
    wrong = citations.true_labels(papers.target) != citations.labels
    order = audit_pairs(papers.data, citations, random_state=0).order
    shares = {"all citations": wrong.mean(), "500 most suspect": wrong[order[:500]].mean()}
    shares["100 most suspect"] = wrong[order[:100]].mean()
    figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
    bars = ax.barh([*shares], [*shares.values()], color=[CHANCE, OURS, OURS], height=0.6)
    ax.bar_label(bars, [f"{share:.0%}" for share in shares.values()], padding=4)
    ax.set(xlabel="share that joins two topics", xlim=(0, 1), xticks=[])
    return figure


def known_pairs() -> Figure:
    """The known pairs of 500 images of digits, and the completed pairs; rows in the order of the digits."""
    images, digits = (part[:500] for part in load_digits(return_X_y=True))
    similarity = rbf_kernel(images / 16, gamma=0.2)
    known = Pairs.from_labels(digits, n_pairs=2000, random_state=0)
    model = PairCompleter(n_components=30, random_state=0).fit(similarity, pairs=known)
    order = np.argsort(digits, kind="stable")
    place = np.argsort(order)
    colours = np.where(known.labels > 0, SAME, DIFFERENT)
    figure, (left, right) = plt.subplots(1, 2, figsize=SIZE, layout="constrained")
    for one, other in ((known.rows, known.cols), (known.cols, known.rows)):
        left.scatter(place[one], place[other], s=1.5, c=colours, linewidths=0)
    matrix = np.clip(model.label_matrix(), -1, 1)[np.ix_(order, order)]
    right.imshow(matrix, cmap="RdBu", vmin=-1, vmax=1, interpolation="antialiased")
    last = len(digits) - 0.5
    for ax, title in ((left, "known pairs"), (right, "completed")):
        ax.set(title=title, xticks=[], yticks=[], aspect="equal", xlim=(-0.5, last), ylim=(last, -0.5))
    return figure


if __name__ == "__main__":
    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    for draw in (labels, links, known_pairs):
        path = IMAGES / f"card-{draw.__name__.replace('_', '-')}.png"
        draw().savefig(path, dpi=DPI)
        Image.open(path).convert("RGB").quantize(N_COLOURS).save(path, optimize=True)
        print(path)
