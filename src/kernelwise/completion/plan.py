r"""How many samples and pairs to label, before any is labelled: by simulation, and by the theorems of the paper.

=====================  =========================================================================
here                   in the paper
=====================  =========================================================================
``class_shares``       :math:`p_1, \dots, p_r`, the share of every class: positive, with a sum of one
``n_labelled``         m, samples that may occur in known pairs
``n_components``       s, eigenvectors of the similarity
``coherence``          :math:`\mu_s`, equation (6), :func:`kernelwise.metrics.coherence`
``uncovered``          :math:`\varepsilon = \sum_k \|g_k - P_U g_k\|^2` over the class indicators
=====================  =========================================================================

The conditions are sufficient and far from necessary. The constants are those that the paper prints, and even the
experiments of the paper do not meet the conditions.

References
----------
T. Yang, R. Jin. Extracting certainty from uncertainty: transductive pairwise classification from pairwise similarities.
NIPS 2014, section 4.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..checks import Array, Index, check_count
from ..metrics import coherence
from ..progress import Progress, teller
from ..samples import sample_product
from ..spectral import assign_clusters
from ..spectral.embedding import unit_rows
from ..statements import Pairs
from .basis import leading_basis, read_similarity, refuse_distances
from .completer import PairCompleter
from .core import labelled_for_recovery
from .core_fit import CoreFitter

#: The numbers of labelled samples to try, as multiples of the number of eigenvectors.
MULTIPLES = (1.5, 2, 4, 8, 16)
#: The accuracy is measured on at most this many pairs of one class and this many pairs of different classes.
N_QUESTIONS = 20_000


@dataclass(frozen=True, eq=False)
class LabellingPlan:
    """The result of :func:`plan_labelling`.

    Parameters
    ----------
    rows : tuple of dict
        One row for every number of labelled samples and share of their pairs:

        * ``n_labelled``, ``share``, ``n_pairs``: the numbers of samples and pairs to label;
        * ``accuracy``: the mean of the accuracies on pairs of one class and of different classes in the simulation;
        * ``reached``: whether the accuracy is as high as asked for;
        * ``theorem1_entries``, ``theorem2_labelled``: the numbers of known entries (a pair is two entries) and of
          labelled samples that are sufficient by the theorems of the paper;
        * ``conditions_met``: whether the row has at least these numbers;
        * ``probability``: the probability with which Theorem 2 then holds;
        * ``theorem3_bound``: a bound on the error of the label matrix relative to its norm.
    recommended : dict or None
        The row with the fewest pairs that reaches the accuracy; among rows with equally many pairs, the row with the
        fewest samples.
    coherence : float
    n_components : int
    class_shares : ndarray
        The shares of the planted classes.
    uncovered : float
        The part of the indicators of the planted classes that lies outside the basis, as a fraction of n.

    Examples
    --------
    See :func:`plan_labelling`.
    """

    rows: tuple[dict[str, Any], ...]
    recommended: dict[str, Any] | None
    coherence: float
    n_components: int
    class_shares: Array
    uncovered: float

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self.rows))


def plan_labelling(
    similarity: Any,
    n_clusters: int,
    *,
    completer: PairCompleter | None = None,
    accuracy: float = 0.95,
    n_labelled: Sequence[int] | None = None,
    shares: Sequence[float] = (0.02, 0.05, 0.1, 0.2, 0.5),
    n_repeats: int = 3,
    random_state: Any = None,
    progress: Progress = None,
) -> LabellingPlan:
    """Answer "how many examples and pairs should I label?" by the paper's theorems and by simulation.

    Spectral clustering of the similarity gives planted classes. Samples and pairs are drawn, all other labels are
    hidden, and the label matrix is estimated as :class:`PairCompleter` does. The answer is too optimistic if the true
    classes are not clusters of the similarity. The theorems ask for far more samples and pairs, often for more than
    exist.

    Parameters
    ----------
    similarity : array, sparse matrix, LinearOperator or GramFactor of shape (n_samples, n_samples)
        Features where the completer has kernels.
    n_clusters : int
        The expected number of classes.
    completer : PairCompleter or None, default=None
        The settings to plan for: number of eigenvectors, method, normalisation, noise rate. None: the defaults, with
        fewer eigenvectors where there are few samples.
    accuracy : float, default=0.95
        The accuracy to reach, between 1/2 and 1: the mean of the accuracies on pairs of one and of different classes.
    n_labelled : sequence of int, optional
        Numbers of labelled samples to try; by default 1.5 to 16 times the number of eigenvectors.
    shares : sequence of float, default=(0.02, 0.05, 0.1, 0.2, 0.5)
        Fractions of the pairs of labelled samples to try.
    n_repeats : int, default=3
        Number of simulations to average for every row.
    random_state : int, RandomState or None, default=None
    progress : bool or callable, optional
        True prints how much is done, and the time that is left, on the standard error after 10 seconds. A function is
        called with the number of steps that are done, and the number of all steps.

    Returns
    -------
    LabellingPlan

    References
    ----------
    T. Yang, R. Jin. Extracting certainty from uncertainty: transductive pairwise classification from pairwise
    similarities. NIPS 2014, Theorems 1 to 3.

    Examples
    --------
    >>> from kernelwise import PairCompleter, plan_labelling
    >>> from kernelwise.datasets import make_block_similarity
    >>> S, _ = make_block_similarity(300, 3, random_state=0)
    >>> plan = plan_labelling(S, 3, completer=PairCompleter(6), random_state=0)
    >>> plan.recommended["n_pairs"] <= 60, plan.recommended["conditions_met"]
    (True, False)
    """
    settings = clone(completer) if completer is not None else PairCompleter()
    rng = check_random_state(random_state)
    settings.random_state = rng
    _check_questions(n_clusters, accuracy, shares, n_repeats)
    if not isinstance(settings.n_components, Integral):
        raise ValueError(f"completer must have an int for n_components to plan with, got {settings.n_components!r}")
    if settings.noise_rate == "auto":
        raise ValueError('completer has noise_rate="auto", but there are no pairs yet to find it from; give a number')
    read = read_similarity(settings, similarity)
    refuse_distances(read.matrix)
    count = int(settings.n_components)
    count = count if completer is not None else min(count, max(1, read.n_samples // 10))
    basis = leading_basis(read, count, normalize=settings.normalize, tol=settings.eigen_tol, random_state=rng).vectors
    leading = basis[:, : max(2, n_clusters)]
    planted = assign_clusters(unit_rows(leading) if leading.shape[1] > 1 else leading, n_clusters, random_state=rng)
    sizes = _labelled_sizes(n_labelled, basis)
    noise_rate = 0.0 if settings.noise_rate is None else float(settings.noise_rate)
    limits = settings.penalty, settings.tol, settings.max_iter, settings.refine
    fitter = CoreFitter(settings.method, noise_rate, *limits)
    simulation = _Simulation(basis, planted, fitter, rng)
    theory = _Theory(basis, planted)
    rows, tell = [], teller(progress, "simulating")
    work = [m * share for m in sizes for share in shares]  # a simulation takes the longer, the more pairs are known
    for m in sizes:
        for share in shares:
            n_pairs = max(1, round(share * m * (m - 1) / 2))
            reached = float(np.mean([simulation.accuracy(m, n_pairs) for _ in range(n_repeats)]))
            found = {"n_labelled": m, "share": share, "n_pairs": n_pairs, "accuracy": reached}
            rows.append(found | {"reached": reached >= accuracy} | theory.row(m, n_pairs))
            tell(round(1000 * sum(work[: len(rows)]) / sum(work)), 1000)
    enough = [row for row in rows if row["reached"]]
    best = min(enough, key=lambda row: (row["n_pairs"], row["n_labelled"])) if enough else None
    uncovered = theory.uncovered / len(planted)
    return LabellingPlan(tuple(rows), best, theory.coherence, basis.shape[1], theory.class_shares, uncovered)


class _Simulation:
    """Hide planted classes, and measure how well a few known pairs recover them."""

    def __init__(self, basis: Array, planted: Index, fitter: CoreFitter, rng: np.random.RandomState):
        self.basis, self.planted, self.fitter, self.rng = basis, planted, fitter, rng
        rows, cols = rng.randint(0, len(planted), (2, 4 * N_QUESTIONS))
        same = planted[rows] == planted[cols]
        self.questions = [(rows[kind][:N_QUESTIONS], cols[kind][:N_QUESTIONS]) for kind in (same, ~same)]

    def accuracy(self, n_labelled: int, n_pairs: int) -> float:
        labelled = np.full(len(self.planted), -1)
        chosen = self.rng.choice(len(self.planted), n_labelled, replace=False)
        labelled[chosen] = self.planted[chosen] + 2  # labels of -1 and 1 alone are refused: they may be two classes
        pairs = Pairs.from_labels(labelled, n_pairs=n_pairs, random_state=self.rng)
        noisy = pairs.flip(self.fitter.noise_rate, random_state=self.rng)
        factor = self.fitter.factor(self.basis, noisy, self.rng)
        (same, different) = (sample_product(factor, factor, *ends) for ends in self.questions)
        return 0.5 * float(np.mean(same >= 0.5) + np.mean(different < 0.5))


def entries_for_recovery(n_labelled: int, class_shares: Array) -> int:
    r"""Theorem 1: the number of known entries of the m x m block that makes the completion of the block exact.

    .. math:: |\Sigma| \ge \Big\lceil \frac{512}{\min_i p_i^2} \Big\rceil\, m \log^2 (2 m)

    If the number is larger than m^2, the number of all entries, the theorem promises nothing.
    """
    rarest = float(class_shares.min())
    return math.ceil(math.ceil(512 / rarest**2) * n_labelled * math.log(2 * n_labelled) ** 2)


def recovery_probability(n_labelled: int, class_shares: Array) -> float:
    r"""The probability with which Theorem 2 holds if its conditions are met; 0 where the bound is negative.

    .. math:: 1 - \sum_i e^{-m p_i / 8} - 3 m^{-2}
    """
    missed = float(np.exp(-n_labelled * class_shares / 8).sum())
    return max(0.0, 1.0 - missed - 3 / n_labelled**2)


def uncovered_energy(labels: ArrayLike, basis: ArrayLike) -> float:
    r"""The part of the class indicators outside the basis: :math:`\varepsilon = \sum_k \|g_k - U U^\top g_k\|^2`.

    The columns of U are orthonormal. The result is 0 if the indicators lie in the span of U, and at most n.
    """
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    vectors = np.asarray(basis, dtype=np.float64)
    covered = sum(float(np.square(vectors[codes == k].sum(axis=0)).sum()) for k in range(len(classes)))
    return max(0.0, len(codes) - covered)


def reconstruction_bound(uncovered: float, n_samples: int, n_labelled: int) -> float:
    r"""Theorem 3: a bound on the Frobenius norm of Z' - Z where the basis does not cover the classes.

    .. math:: \varepsilon \Big( 1 + \frac{2 n}{m} + \frac{2 \sqrt 2\, n}{\sqrt{m \varepsilon}} \Big)
    """
    growth = uncovered * (1 + 2 * n_samples / n_labelled)
    return growth + 2 * math.sqrt(2 * uncovered / n_labelled) * n_samples


class _Theory:
    """The conditions of the theorems for the planted classes."""

    def __init__(self, basis: Array, planted: Index):
        self.n_samples = len(planted)
        self.class_sizes = np.unique(planted, return_counts=True)[1]
        self.class_shares = self.class_sizes / self.n_samples
        self.coherence = coherence(basis)
        self.uncovered = uncovered_energy(planted, basis)
        self.labelled = labelled_for_recovery(max(1.0, self.coherence), basis.shape[1])

    def row(self, n_labelled: int, n_pairs: int) -> dict[str, Any]:
        entries = entries_for_recovery(n_labelled, self.class_shares)
        norm = float(np.sqrt(np.square(self.class_sizes).sum()))
        return {
            "theorem1_entries": entries,
            "theorem2_labelled": self.labelled,
            "conditions_met": 2 * n_pairs >= entries and n_labelled >= self.labelled,
            "probability": recovery_probability(n_labelled, self.class_shares),
            "theorem3_bound": reconstruction_bound(self.uncovered, self.n_samples, n_labelled) / norm,
        }


def _labelled_sizes(n_labelled: Sequence[int] | None, basis: Array) -> list[int]:
    n_samples, s = basis.shape
    if n_labelled is None:
        return sorted({min(n_samples, max(round(multiple * s), s + 1, 3)) for multiple in MULTIPLES})
    sizes = sorted({int(m) for m in n_labelled})
    if not sizes or sizes[0] < 2 or sizes[-1] > n_samples:
        raise ValueError(f"n_labelled must hold numbers between 2 and the {n_samples} samples, got {list(n_labelled)}")
    return sizes


def _check_questions(n_clusters: Any, accuracy: Any, shares: Sequence[float], n_repeats: Any) -> None:
    check_count("n_clusters", n_clusters, least=2)
    check_count("n_repeats", n_repeats)
    if not 0.5 < accuracy <= 1:
        raise ValueError(f"accuracy must lie above 1/2, which is chance, and be at most 1, got {accuracy!r}")
    if not len(shares) or not all(0 < share <= 1 for share in shares):
        raise ValueError(f"shares must be fractions above 0 and up to 1, got {list(shares)}")
