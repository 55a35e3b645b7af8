"""Displays of fitted models: the weights of kernels, how fast a solver converged, and how noise lowers a score."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from ...papers.figures import COLOURS, DASHES, MARKERS
from ...statements import flip_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


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


def named_kernel_weights(estimator: Any) -> dict[str, float]:
    """The weights of the kernels that a fitted estimator uses, by name.

    If the estimator has weights for each class, their mean is returned.

    Parameters
    ----------
    estimator : fitted estimator
        An estimator with ``kernel_weights_``, and with ``kernel_names_`` or ``kernels_``; or with ``model_weights_``.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Pairs, UniformKernel
    >>> from kernelwise.report import named_kernel_weights
    >>> learner = UniformKernel().fit(np.eye(3), pairs=Pairs([0], [1], [1], n_samples=3))
    >>> {name: round(weight, 3) for name, weight in named_kernel_weights(learner).items()}
    {'linear[0]': 0.333, 'linear[1]': 0.333, 'linear[2]': 0.333}
    """
    check_is_fitted(estimator)
    if hasattr(estimator, "model_weights_"):  # base models, of which some are kernels
        return dict(zip(estimator.model_names_, estimator.model_weights_.tolist(), strict=True))
    if not hasattr(estimator, "kernel_weights_"):
        raise TypeError(f"{type(estimator).__name__} has no kernel_weights_; it does not weigh kernels")
    weights = np.atleast_2d(estimator.kernel_weights_).mean(axis=0)
    names = getattr(estimator, "kernel_names_", None)
    if names is None:
        features = getattr(estimator, "feature_names_in_", None)
        names = [_kernel_name(kernel, features) for kernel in estimator.kernels_]
    named: dict[str, float] = {}
    for name, weight in zip(names, weights, strict=True):  # the same kernel may have been given twice
        named[name] = named.get(name, 0.0) + float(weight)
    return named


def _kernel_name(kernel: Any, features: Any) -> str:
    if features is None or kernel.columns is None:
        return str(kernel.name)
    columns = kernel.columns if isinstance(kernel.columns, tuple) else (kernel.columns,)
    return f"{kernel.label}[{','.join(str(features[c]) if isinstance(c, int) else str(c) for c in columns)}]"


class KernelWeightsDisplay(Display):
    """The weights of the kernels as bars.

    Parameters
    ----------
    kernel_weights : dict of str to float
        The weight of each kernel, by name.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from kernelwise.report import KernelWeightsDisplay
    >>> KernelWeightsDisplay({"wide": 0.7, "narrow": 0.3}).kernel_weights["wide"]
    0.7
    """

    def __init__(self, kernel_weights: Mapping[str, float]):
        self.kernel_weights = dict(kernel_weights)

    @classmethod
    def from_estimator(cls, estimator: Any, *, max_kernels: int = 20, ax: "Axes | None" = None) -> Self:
        """Draw the weights of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            An estimator with ``kernel_weights_``.
        max_kernels : int
        ax : matplotlib Axes, default=None
        """
        return cls(named_kernel_weights(estimator)).plot(ax, max_kernels=max_kernels)

    def plot(self, ax: "Axes | None" = None, *, max_kernels: int = 20) -> Self:
        """Draw the bars, the heaviest kernel on top, and say in the title how many kernels there are."""
        used = {name: weight for name, weight in self.kernel_weights.items() if weight != 0}
        shown = sorted(used, key=lambda name: -abs(used[name]))[:max_kernels]
        title = f"{len(used)} of {len(self.kernel_weights)} kernels used"
        title += f", the {len(shown)} heaviest" if len(shown) < len(used) else ""
        ax = self._start(ax, xlabel="weight", title=title)
        self.bars_ = ax.barh(shown, [used[name] for name in shown], color=COLOURS[0], height=0.7)
        ax.invert_yaxis()
        return self


class ConvergenceDisplay(Display):
    """How far a solver was from the optimum, at most, after each iteration.

    Parameters
    ----------
    histories : dict of str to sequence of HistoryRow
        The rows (iteration, seconds, primal, dual) of each problem, by its name.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from kernelwise.report import ConvergenceDisplay
    >>> display = ConvergenceDisplay({"": [(1, 0.1, 2.0, 1.0), (2, 0.2, 1.6, 1.5)]})
    >>> display.gaps("").round(3).tolist()
    [1.0, 0.1]
    """

    def __init__(self, histories: Mapping[str, Sequence[Sequence[float]]]):
        self.histories = dict(histories)

    def gaps(self, name: str) -> Array:
        """The gap between the bounds, by iteration."""
        return np.array([row[2] - row[3] for row in self.histories[name]], dtype=float)

    @classmethod
    def from_estimator(cls, estimator: Any, *, time: bool = False, ax: "Axes | None" = None) -> Self:
        """Draw the history of a fitted estimator, one line for each of its problems.

        Parameters
        ----------
        estimator : fitted estimator
            An estimator with ``history_``.
        time : bool
            Whether the horizontal axis shows seconds instead of iterations.
        ax : matplotlib Axes, default=None
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "history_"):
            raise TypeError(f"{type(estimator).__name__} has no history_; its solver keeps no bounds")
        history = estimator.history_
        several = isinstance(history, list)
        names = [str(c) for c in estimator.classes_] if several and len(history) > 1 else [""]
        return cls(dict(zip(names, history if several else [history], strict=True))).plot(ax, time=time)

    def plot(self, ax: "Axes | None" = None, *, time: bool = False) -> Self:
        """Draw the gap on a logarithmic scale over iterations, or over seconds; a gap of zero is left out."""
        ax = self._start(ax, xlabel="seconds" if time else "iteration", ylabel="gap between the bounds")
        self.lines_ = []
        for style, (name, rows) in enumerate(self.histories.items()):
            gaps = self.gaps(name)
            shown = np.isfinite(gaps) & (gaps > 0)
            x = np.array([row[1 if time else 0] for row in rows], dtype=float)
            self.lines_ += ax.plot(x[shown], gaps[shown], label=name, **line_style(style))
        ax.set_yscale("log")
        ax.locator_params(axis="x", integer=not time)
        ax.grid(axis="y", color="#dddddd", linewidth=0.6)
        if len(self.histories) > 1:
            ax.legend(frameon=False)
        return self


class NoiseCurveDisplay(Display):
    """How a score falls as more training labels are wrong.

    Parameters
    ----------
    rates : array-like of shape (n_rates,)
    scores : dict of str to array of shape (n_rates, n_trials)
        The scores of each method on right labels, by its name.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from kernelwise.report import NoiseCurveDisplay
    >>> NoiseCurveDisplay([0.0, 0.4], {"SVC": [[0.9, 0.8], [0.7, 0.6]]}).scores["SVC"].shape
    (2, 2)
    """

    def __init__(self, rates: ArrayLike, scores: Mapping[str, ArrayLike]):
        self.rates = np.asarray(rates, dtype=float)
        self.scores: dict[str, Array] = {name: np.asarray(values, dtype=float) for name, values in scores.items()}
        for name, values in self.scores.items():
            if values.ndim != 2 or len(values) != len(self.rates):
                raise ValueError(f"scores[{name!r}] must have shape ({len(self.rates)}, n_trials), got {values.shape}")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        rates: ArrayLike = (0.0, 0.1, 0.2, 0.3, 0.4),
        cv: Any = 5,
        random_state: int | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Flip training labels at each rate, fit, and score on the labels of the other folds as they are.

        Parameters
        ----------
        estimator : classifier, or dict of str to classifier
        X, y : the data, with labels that are right
        rates : array-like of float
        cv : int or splitter
        random_state : int or None
            Seed of the flips; for a seed, labels flipped at a low rate are flipped at every higher rate too.
        ax : matplotlib Axes, default=None
        """
        y, rates = np.asarray(y), np.asarray(rates, dtype=float)
        named = estimator if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
        folds = list(check_cv(cv, y, classifier=True).split(X, y))
        scores: dict[str, list[list[float]]] = {name: [[] for _ in rates] for name in named}
        for train, test in folds:
            X_train, X_test = _safe_indexing(X, train), _safe_indexing(X, test)
            for k, rate in enumerate(rates):
                noisy = flip_labels(y[train], rate, random_state=random_state)
                for name, classifier in named.items():
                    fitted = clone(classifier).fit(X_train, noisy)
                    scores[name][k].append(fitted.score(X_test, y[test]))
        return cls(rates, scores).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the means with bands of one standard error."""
        ax = self._start(ax, xlabel="fraction of wrong training labels", ylabel="score on right labels")
        self.lines_ = []
        for style, (name, values) in enumerate(self.scores.items()):
            mean, n_trials = values.mean(axis=1), values.shape[1]
            error = values.std(axis=1, ddof=1) / np.sqrt(n_trials) if n_trials > 1 else np.zeros(len(mean))
            drawn = line_style(style)
            self.lines_ += ax.plot(self.rates, mean, label=name, **drawn)
            ax.fill_between(self.rates, mean - error, mean + error, color=drawn["color"], alpha=0.12, linewidth=0)
        ax.grid(axis="y", color="#dddddd", linewidth=0.6)
        ax.legend(frameon=False)
        return self
