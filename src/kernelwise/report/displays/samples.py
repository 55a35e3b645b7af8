"""Displays of samples: which belong together, where they lie, and how suspect their labels are."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ...papers.figures import COLOURS, MARKERS
from ...review import LabelAudit, PairAudit
from .fits import Display, check_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GIVEN, QUIET = COLOURS[1], "#b9b4aa"


class LabelMatrixDisplay(Display):
    """A matrix of pair scores, in which the rows of a cluster stand side by side.

    Parameters
    ----------
    matrix : array of shape (n_samples, n_samples)
        Scores that are high where two samples are of the same class.
    labels : array of shape (n_samples,), default=None
        Clusters or classes. Without labels, the rows keep their order.

    Attributes
    ----------
    image_ : matplotlib AxesImage
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.report import LabelMatrixDisplay
    >>> LabelMatrixDisplay(np.eye(3), labels=[1, 0, 1]).order.tolist()
    [1, 0, 2]
    """

    def __init__(self, matrix: ArrayLike, labels: ArrayLike | None = None):
        self.matrix = np.asarray(matrix, dtype=float)
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise ValueError(f"matrix must be square, got shape {self.matrix.shape}")
        self.labels = check_labels(labels, len(self.matrix))

    @property
    def order(self) -> NDArray[np.intp]:
        """The order in which the rows are drawn."""
        return np.arange(len(self.matrix)) if self.labels is None else np.argsort(self.labels, kind="stable")

    @classmethod
    def from_estimator(cls, estimator: Any, *, labels: ArrayLike | None = None, ax: "Axes | None" = None) -> Self:
        """Draw the label matrix of a fitted completer.

        Parameters
        ----------
        estimator : fitted estimator
            An estimator with ``label_matrix()``.
        labels : array-like, default=None
            By default ``labels_`` of the estimator, if it has any.
        ax : matplotlib Axes, default=None
        """
        if not hasattr(estimator, "label_matrix"):
            raise TypeError(f"{type(estimator).__name__} has no label_matrix()")
        return cls(estimator.label_matrix(), getattr(estimator, "labels_", None) if labels is None else labels).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the matrix, purple where the score is high and orange where it is low, with lines between clusters."""
        ax = self._start(ax)
        order = self.order
        largest = float(np.abs(self.matrix).max(initial=0.0)) or 1.0
        self.image_ = ax.imshow(self.matrix[np.ix_(order, order)], cmap="PuOr", vmin=-largest, vmax=largest)
        if self.labels is not None:
            ordered = self.labels[order]
            for edge in np.flatnonzero(ordered[1:] != ordered[:-1]) + 0.5:
                ax.axhline(edge, color="black", linewidth=0.5)
                ax.axvline(edge, color="black", linewidth=0.5)
        self.figure_.colorbar(self.image_, ax=ax, label="score: same class if high")
        return self


class EmbeddingDisplay(Display):
    """Samples as points in the space of a learned kernel.

    Parameters
    ----------
    points : array of shape (n_samples, n_components)
    labels : array of shape (n_samples,), default=None
        Clusters or classes; each has its own colour and shape.

    Attributes
    ----------
    points_ : list of matplotlib PathCollection
        One collection for each label.
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.report import EmbeddingDisplay
    >>> EmbeddingDisplay(np.zeros((5, 3)), labels=[0, 0, 1, 1, 1]).points.shape
    (5, 3)
    """

    def __init__(self, points: ArrayLike, labels: ArrayLike | None = None):
        self.points = np.asarray(points, dtype=float)
        if self.points.ndim != 2 or self.points.shape[1] < 1:
            raise ValueError(f"points must be rows of coordinates, got shape {self.points.shape}")
        self.labels = check_labels(labels, len(self.points))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, labels: ArrayLike | None = None, ax: "Axes | None" = None
    ) -> Self:
        """Draw the embedding of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            An estimator with ``embedding_``, or with ``transform`` if ``X`` is given.
        X : array or sparse matrix, default=None
        labels : array-like, default=None
            By default ``labels_`` of the estimator, if it has any and ``X`` is not given.
        ax : matplotlib Axes, default=None
        """
        check_is_fitted(estimator)
        if X is not None:
            points = estimator.transform(X)
            return cls(points.toarray() if hasattr(points, "toarray") else points, labels).plot(ax)
        if not hasattr(estimator, "embedding_"):
            raise TypeError(f"{type(estimator).__name__} has no embedding_; pass X to transform it")
        return cls(estimator.embedding_, getattr(estimator, "labels_", None) if labels is None else labels).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the two directions of largest spread."""
        ax = self._start(ax, xlabel="first direction", ylabel="second direction")
        centred = self.points - self.points.mean(axis=0)
        _, _, directions = np.linalg.svd(centred, full_matrices=False)
        xy = centred @ directions[:2].T
        xy = np.column_stack([xy, np.zeros((len(xy), 2 - xy.shape[1]))])
        labels = np.zeros(len(xy), dtype=int) if self.labels is None else self.labels
        self.points_ = []
        for style, label in enumerate(np.unique(labels)):
            drawn: dict[str, Any] = {"color": COLOURS[style % len(COLOURS)], "marker": MARKERS[style % len(MARKERS)]}
            x, y = xy[labels == label].T
            self.points_.append(ax.scatter(x, y, s=14, alpha=0.7, linewidth=0, label=str(label), **drawn))
        if self.labels is not None:
            ax.legend(frameon=False)
        return self


class ScoreDistributionDisplay(Display):
    """How suspect labels or pairs are, and from which chance on they are worth checking.

    Parameters
    ----------
    quality : array of shape (n,)
        The chance of each label or pair to be right.
    to_check : int, default=0
        How many of the most suspect labels or pairs are worth checking.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from kernelwise.report import ScoreDistributionDisplay
    >>> ScoreDistributionDisplay([0.9, 0.2, 0.7], to_check=1).threshold
    0.8
    """

    def __init__(self, quality: ArrayLike, to_check: int = 0):
        self.quality = np.asarray(quality, dtype=float)
        self.to_check = to_check
        if not 0 <= to_check <= self.quality.size:
            raise ValueError(f"to_check must be between 0 and {self.quality.size}, got {to_check!r}")

    @property
    def threshold(self) -> float | None:
        """The chance to be wrong from which on a label is worth checking; None if no label is."""
        return float(1 - np.sort(self.quality)[self.to_check - 1]) if self.to_check else None

    @classmethod
    def from_audit(
        cls,
        audit: LabelAudit | PairAudit,
        *,
        chance: float = 0.5,
        precision: float | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the qualities of an audit; ``chance`` and ``precision`` are those of ``audit.worth_checking``."""
        quality = audit.quality[~np.isnan(audit.quality)]
        return cls(quality, audit.worth_checking(chance, precision=precision)).plot(ax)

    def plot(self, ax: "Axes | None" = None, *, bins: int = 20) -> Self:
        """Draw a histogram of the chance to be wrong; the bars that are worth checking stand out."""
        title = f"{self.to_check} of {self.quality.size} are worth checking"
        ax = self._start(ax, xlabel="chance to be wrong", ylabel="count", title=title)
        counts, edges = np.histogram(1 - self.quality, bins=bins, range=(0.0, 1.0))
        threshold = np.inf if self.threshold is None else self.threshold
        colours = [GIVEN if right > threshold else QUIET for right in edges[1:]]
        self.bars_ = ax.bar(edges[:-1], counts, width=0.9 / bins, align="edge", color=colours)
        return self
