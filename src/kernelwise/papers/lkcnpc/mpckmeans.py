r"""K-means that learns diagonal metrics and pays for violated pairs (MPCK-Means).

The objective of Bilenko et al. (4), over labels :math:`l`, centres :math:`\mu_h` and diagonal metrics :math:`A_h` of
the clusters, one each or one for all,

.. math::

    J = \sum_i \Bigl( \|x_i - \mu_{l_i}\|^2_{A_{l_i}} + \mathrm{tr}(\Lambda A_{l_i}) - \log\det A_{l_i} \Bigr)
      + \sum_{c \in S,\ l_i \ne l_j} \tfrac{w_c}{2} \bigl( \|v_c\|^2_{A_{l_i}} + \|v_c\|^2_{A_{l_j}} \bigr)
      + \sum_{c \in D,\ l_i = l_j} w_c \bigl( F(A_{l_i}) - \|v_c\|^2_{A_{l_i}} \bigr) .

=================  ==================================================================================================
:math:`S, D`       positive (must-link) and negative (cannot-link) pairs c = (i, j) with weight :math:`w_c`
:math:`v_c`        :math:`x_i - x_j`
:math:`F(A)`       largest squared distance between any two samples under A, so that no term is negative
:math:`\Lambda`    diagonal; a small part of the variance of each feature, which bounds the metrics
=================  ==================================================================================================

Each step lowers J: iterated conditional modes for the labels, means for the centres, and for the metrics the minimiser
for the present farthest pair, or a point on the way to it where another pair has become the farthest.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self
from warnings import warn

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ...checks import IntArray, check_choice
from ...samples import read_samples, tagged
from ...statements import Pairs
from ...statements.graph import RandomState
from ...ties import first_best
from .base import FromPairs, squared
from .mpckmeans_problem import Problem, run, squared_distances


@dataclass(eq=False, repr=False)
class MPCKMeans(ClusterMixin, FromPairs):
    r"""K-means with diagonal metrics learned on the way, and a price for every pair that the clusters contradict.

    .. math:: J = \sum_i \bigl( \|x_i - \mu_{l_i}\|^2_{A_{l_i}} - \log\det A_{l_i} \bigr) + \text{violated pairs}

    A positive pair in two clusters costs its weight times its squared distance. A negative pair in one cluster costs
    its weight times the difference between the squared distance of the farthest two samples and its squared distance.
    Pairs may contradict each other; some of them then stay violated. Without pairs the method is k-means with learned
    metrics.

    Parameters
    ----------
    n_clusters : int, default=8
    metric : {"per-cluster", "shared"}, default="per-cluster"
        Whether each cluster has a metric of its own.
    penalty : float, default=1.0
        Price of a violated pair of weight one.
    shrinkage : float, default=0.1
        Fraction of the variance of each feature that is added to its variance within every cluster. The addition keeps
        metrics finite where a feature is constant in a cluster.
    n_init : int, default=5
        Number of runs, of which the best is kept.
    max_iter : int, default=100
        Limit on the number of rounds of labels, centres and metrics.
    tol : float, default=1e-6
        Relative decrease of the objective below which a run ends.
    random_state : int, RandomState or None
        Draws pairs from labels, seeds, and the order in which samples are assigned.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    metrics_ : ndarray of shape (n_clusters, n_features)
        Diagonals of the metrics.
    objective_ : float
        J.
    inertia_ : float
        The part of J that is the squared distances to the centres.
    n_iter_ : int
        Number of rounds of the best run.
    converged_ : bool
        Whether the best run ended before ``max_iter`` rounds.

    Notes
    -----
    Samples that are connected by positive pairs form a neighbourhood. Centres start at large neighbourhoods far from
    each other, then at samples drawn as in k-means++. Every round improves the labels of the last round, and also
    labels that put each neighbourhood into one cluster; the better result is kept. Pairs that follow from other pairs
    are not added, because one wrong pair would spread to whole neighbourhoods. Finding the farthest pair costs up to
    :math:`n^2 d / 2` per metric and round, if there are negative pairs.

    References
    ----------
    M. Bilenko, S. Basu, R. J. Mooney. Integrating constraints and metric learning in semi-supervised clustering.
    ICML 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Pairs
    >>> from kernelwise import MPCKMeans
    >>> X = np.array([[0.0, 0.0], [0.1, 3.0], [2.0, 0.1], [2.1, 3.1]])
    >>> pairs = Pairs([0, 2, 0, 1], [1, 3, 2, 3], [1, 1, -1, -1], n_samples=4)
    >>> labels = MPCKMeans(n_clusters=2, random_state=0).fit(X, pairs=pairs).labels_
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    n_clusters: int = 8
    _: KW_ONLY
    metric: Literal["per-cluster", "shared"] = "per-cluster"
    penalty: float = 1.0
    shrinkage: float = 0.1
    n_init: int = 5
    max_iter: int = 100
    tol: float = 1e-6
    random_state: RandomState = None

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        self._check(positive=("penalty", "shrinkage", "tol"), counts=("n_clusters", "n_init", "max_iter"))
        check_choice("metric", self.metric, ("per-cluster", "shared"))
        X, pairs, rng = self._read(X, y, pairs, least=1, required=False)
        if self.n_clusters > X.shape[0]:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the n_samples={X.shape[0]} samples in X")
        # Centred, so that squares of large offsets do not drown the differences; sparse data must stay sparse.
        shift = np.zeros(X.shape[1]) if sp.issparse(X) else X.mean(axis=0)
        problem = Problem.of(
            X if sp.issparse(X) else X - shift,
            pairs,
            self.n_clusters,
            shared=self.metric == "shared",
            penalty=self.penalty,
            shrinkage=self.shrinkage,
        )
        runs = [run(problem, self.max_iter, self.tol, rng) for _ in range(self.n_init)]
        best = first_best([-objective for _, objective, _, _ in runs])
        state, self.objective_, self.n_iter_, self.converged_ = runs[best]
        if not self.converged_:
            warn(f"not converged after {self.n_iter_} rounds; raise max_iter", ConvergenceWarning, stacklevel=2)
        self.labels_, self.cluster_centers_ = state.labels, state.centers + shift
        self.metrics_ = state.metrics[problem.groups].copy()
        self._offsets = problem.offsets(state.metrics)
        distances = squared_distances(problem.X, problem.squares, state.centers, self.metrics_)
        self.inertia_ = float(np.take_along_axis(distances, self.labels_[:, None], axis=1).sum())
        return self

    def fit_predict(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> IntArray:
        """Cluster the samples and return ``labels_``; scikit-learn's own would not pass on ``y``."""
        return self.fit(X, y, pairs=pairs).labels_

    def predict(self, X: Any) -> IntArray:
        r"""The cluster h of least cost without pairs.

        .. math:: \|x - \mu_h\|^2_{A_h} + \mathrm{tr}(\Lambda A_h) - \log\det A_h
        """
        check_is_fitted(self)
        X = read_samples(self, X, reset=False)
        centers = self.cluster_centers_
        shift = np.zeros(X.shape[1]) if sp.issparse(X) else centers.mean(axis=0)
        X, centers = (X if sp.issparse(X) else X - shift), centers - shift
        costs = squared_distances(X, squared(X), centers, self.metrics_) + self._offsets
        return costs.argmin(axis=1).astype(np.int64)

    def __sklearn_tags__(self) -> Tags:
        return tagged(super().__sklearn_tags__(), sparse=True, required=False)
