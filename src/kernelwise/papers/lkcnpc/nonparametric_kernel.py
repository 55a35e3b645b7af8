r"""NPK: a whole kernel matrix, learned from pairs and a graph of the samples.

:class:`NonparametricKernelLearner` states the problem, in these symbols:

================  ====================================================================================
:math:`L`         Laplacian of a graph of the samples, normalised or not
:math:`y_t, w_t`  label (+1, -1) and weight of pair t
:math:`\ell`      :math:`\ell(z) = -z` (linear) or :math:`\ell(z) = \max(0, 1 - z)^2 / 2` (squared hinge)
:math:`\alpha_t`  multiplier of pair t
:math:`A`         :math:`A(\alpha) = \tfrac12 \sum_t \alpha_t y_t (e_{i_t} e_{j_t}^\top + e_{j_t} e_{i_t}^\top) - L`
:math:`q`         :math:`p / (p - 1)`
================  ====================================================================================

The objective is that of Hoi, Jin and Lyu, and the bound is that of Zhuang, Tsang and Hoi. With the bound, the best
kernel for given multipliers is a function of the positive part of A, without a semi-definite program:

.. math:: K(\alpha) = B^{1/p}\, (A_+ / \|A_+\|_q)^{q - 1}, \qquad
          D(\alpha) = -B^{1/p}\, \|A_+\|_q + \sum_t \big(\alpha_t - \tfrac{\alpha_t^2}{2 C w_t}\big) .

For the linear loss :math:`\alpha_t = C w_t` is the solution, and D has no second term. For the squared hinge D is
maximised over :math:`\alpha \ge 0`, one eigen-decomposition per step; :math:`K(\alpha)` is always feasible, so that the
difference of both values bounds the error.
"""

import warnings
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import laplacian
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import check_is_fitted

from ...checks import Array, Index, check_choice, check_positive, is_number, require
from ...samples import check_magnitude, read_samples, tidy
from ...statements import Pairs
from ...ties import nearest_few
from .base import Best, PairTransformer
from .kernel_matrix_problem import KernelMatrixProblem, solve_linear, solve_squared_hinge

#: The measured number of dense n x n matrices in memory at once: A, its eigenvectors, their work space, and K.
MATRICES = 4


@dataclass(eq=False, repr=False, kw_only=True)
class NonparametricKernelLearner(PairTransformer):
    r"""Learn all entries of a kernel matrix from pairs, smooth over a graph of nearest neighbours (NPK).

    .. math:: \min_{K \succeq 0}\ \mathrm{tr}(L K) + C \sum_t w_t\, \ell(y_t K_{i_t j_t})
              \quad\text{s.t.}\quad \mathrm{tr}(K^p) \le B

    The learned kernel is a matrix over the samples of ``fit``, not a function: the method is **transductive**, and
    costs time :math:`n^3` and memory :math:`n^2`. Samples of ``fit`` are recognised in ``transform`` and ``kernel`` by
    their values and get their learned features. Any other sample gets the mean of the features of its ``n_neighbors``
    nearest samples of ``fit``; this regression is not a part of the published method.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the pairs against the graph.
    loss : {"linear", "squared_hinge"}, default="linear"
        "linear" has a closed-form solution. "squared_hinge" takes one eigen-decomposition per iteration.
    p : float, default=2.0
        Power in the bound, above one. Near one, K has a low rank.
    bound : float or None, default=None
        B; n by default, the value of the identity. With the linear loss it sets nothing but the scale of K.
    graph : {"neighbors", "linear"}, default="neighbors"
        "neighbors" joins two samples if either is one of the nearest of the other; "linear" weighs every pair by its
        inner product, which must not be negative.
    normalize_graph : bool, default=True
        :math:`L = I - D^{-1/2} W D^{-1/2}` for the weights W with row sums D; otherwise :math:`L = D - W`, under which
        samples of many links cost more than pairs can outweigh, so that K has next to no rank.
    n_neighbors : int, default=5
        Neighbours of every sample.
    metric : str, default="euclidean"
        Distance of neighbours, as in :class:`sklearn.neighbors.NearestNeighbors`; "cosine" suits texts.
    tol : float, default=1e-3
        Duality gap to reach with "squared_hinge", relative to ``max(1, |objective|)``.
    max_iter : int, default=100
        Limit on the number of eigen-decompositions.
    max_samples : int, default=10000
        Limit on the number of samples, lest memory run out by surprise: 10000 samples take about 3.2 GB.
    random_state : int, RandomState or None, default=None
        Which pairs are drawn from ``y`` where no pairs are given.

    Attributes
    ----------
    features_ : ndarray of shape (n_samples, rank)
        F with :math:`K = F F^\top`.
    eigenvalues_ : ndarray of shape (rank,)
        Of K, largest first.
    objective_, dual_gap_ : float
        Value of the problem at K and a bound on its distance to the optimum, from the dual.
    n_iter_ : int
        Number of eigen-decompositions.
    converged_ : bool
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Rows of X that are equal are told apart by their order. As B goes to zero, the squared hinge becomes the linear
    loss. Where C is too small for A to have a positive eigenvalue, the kernel is zero, with a warning.

    References
    ----------
    S. C. H. Hoi, R. Jin, M. R. Lyu. Learning nonparametric kernel matrices from pairwise constraints. ICML 2007.
    J. Zhuang, I. W. Tsang, S. C. H. Hoi. A family of simple non-parametric kernel learning algorithms. JMLR 12, 2011.

    Examples
    --------
    One pair of each kind; the graph tells the rest:

    >>> import numpy as np
    >>> from kernelwise import Pairs
    >>> from kernelwise import NonparametricKernelLearner
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> pairs = Pairs([0, 2], [1, 3], [1, -1], n_samples=6)
    >>> learner = NonparametricKernelLearner(n_neighbors=2).fit(X, pairs=pairs)
    >>> K = learner.kernel(X)
    >>> bool(K[0, 2] > 0 > K[0, 5]), bool(K[3, 5] > 0)
    (True, True)
    """

    C: float = 1.0
    loss: Literal["linear", "squared_hinge"] = "linear"
    p: float = 2.0
    bound: float | None = None
    graph: Literal["neighbors", "linear"] = "neighbors"
    normalize_graph: bool = True
    n_neighbors: int = 5
    metric: str = "euclidean"
    tol: float = 1e-3
    max_iter: int = 100
    max_samples: int = 10_000
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        self._check_options()
        X, known, _ = self._read(X, y, pairs)
        self._check_size(X.shape[0])
        self._samples = X.copy()
        bound = float(X.shape[0] if self.bound is None else self.bound)
        links = neighbor_graph(X, self._n_near, self.metric) if self.graph == "neighbors" else linear_graph(X)
        matrix: Any = laplacian(links, normed=self.normalize_graph)
        problem = KernelMatrixProblem(sp.csr_array(matrix), known.merged(), self.C, self.p, bound)
        check_magnitude(problem.prices, "C times the weights of the pairs", least=0.0)
        solve = solve_linear if self.loss == "linear" else solve_squared_hinge
        best = solve(problem, self.tol, self.max_iter)
        self._keep(best)
        return self

    @property
    def _n_near(self) -> int:
        return min(self.n_neighbors, self._samples.shape[0] - 1)

    def _keep(self, best: Best) -> None:
        order = np.argsort(best.primal.values)[::-1]
        self.eigenvalues_ = best.primal.values[order]
        self.features_ = best.primal.vectors[:, order] * np.sqrt(self.eigenvalues_)
        self.objective_, self.dual_gap_ = best.primal.objective, best.gap
        self.n_iter_, self.converged_ = best.n_iter, best.reached
        self._warn_unless_converged("eigen-decompositions", "use a smaller C or bound")
        if not len(self.eigenvalues_):
            warnings.warn(
                f"the learned kernel is zero: C={self.C:g} is too small for the pairs to outweigh the graph; raise it",
                stacklevel=3,
            )

    def transform(self, X: Any) -> Array:
        """Learned features: their inner products are the learned kernel.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            Samples of ``fit``; of others, the features are a mean over their nearest samples of ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, rank)
        """
        check_is_fitted(self)
        X = read_samples(self, X, reset=False)
        position = known_positions(self._samples, X)
        new = np.flatnonzero(position < 0)
        features = self.features_[position]
        if len(new):
            nearest = nearest_few(pairwise_distances(X[new], self._samples, metric=self.metric), self._n_near)
            features[new] = self.features_[nearest].mean(axis=1)
        return features

    def _check_options(self) -> None:
        self._check(positive=("C", "tol"), counts=("n_neighbors", "max_iter", "max_samples"))
        if self.bound is not None:
            check_positive("bound", self.bound)
        if not (is_number(self.p) and 1 < float(self.p) < np.inf):
            raise ValueError(f"p must be a number above 1, got {self.p!r}")
        check_choice("graph", self.graph, ("neighbors", "linear"))
        check_choice("loss", self.loss, ("linear", "squared_hinge"))

    def _check_size(self, n_samples: int) -> None:
        if n_samples > self.max_samples:
            gigabytes = MATRICES * 8 * n_samples**2 / 1e9
            raise ValueError(
                f"X has {n_samples} samples, more than max_samples={self.max_samples}: the kernel matrix would take "
                f"about {gigabytes:.1f} GB and time growing with the cube. Raise max_samples if that is meant, or use "
                "SpectralKernelLearner, whose memory grows with the number of samples"
            )
        remedy = "use SpectralKernelLearner, whose memory grows with the number of samples"
        require(MATRICES * 8 * n_samples**2, f"the kernel matrix of {n_samples} samples", remedy)

    @property
    def _n_features_out(self) -> int:
        return self.features_.shape[1]


def neighbor_graph(X: Any, count: int, metric: str = "euclidean") -> sp.csr_array:
    """Links of weight one between samples of which one is among the ``count`` nearest of the other."""
    distances = pairwise_distances(X, metric=metric)
    np.fill_diagonal(distances, np.inf)
    near = nearest_few(distances, count)
    ends = np.repeat(np.arange(len(near)), near.shape[1]), near.ravel()
    directed = sp.csr_array((np.ones(near.size), ends), shape=distances.shape)
    return sp.csr_array(directed.maximum(directed.T))


def linear_graph(X: Any) -> sp.csr_array:
    """Links between all samples, weighted by their inner products."""
    inner = sp.csr_array(X @ X.T)
    if inner.nnz and inner.data.min() < 0:
        raise ValueError(
            f'graph="linear" needs inner products that are not negative, the least is {inner.data.min():.3g}; use '
            'features that are not negative, or graph="neighbors"'
        )
    return inner


def known_positions(samples: Any, X: Any) -> Index:
    """Return the position in ``samples`` of each row of ``X``, -1 for a new one; equal rows keep their order."""
    positions: dict[bytes, list[int]] = {}
    for i, key in enumerate(_row_keys(samples)):
        positions.setdefault(key, []).append(i)
    if sp.issparse(X) != sp.issparse(samples):
        X = sp.csr_array(X) if sp.issparse(samples) else X.toarray()
    seen: dict[bytes, int] = {}
    found = np.full(X.shape[0], -1, dtype=np.intp)
    for i, key in enumerate(_row_keys(X)):
        if key in positions:
            found[i] = positions[key][min(seen.get(key, 0), len(positions[key]) - 1)]
            seen[key] = seen.get(key, 0) + 1
    return found


def _row_keys(X: Any) -> list[bytes]:
    """Return a digest of every row, equal for equal rows."""
    if not sp.issparse(X):
        rows = [row.tobytes() for row in np.ascontiguousarray(X) + 0.0]  # no negative zeros
    else:
        X = tidy(X)
        columns = X.indices.astype(np.int64)
        parts = [slice(*ends) for ends in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
        rows = [columns[part].tobytes() + X.data[part].tobytes() for part in parts]
    return [blake2b(row, digest_size=16).digest() for row in rows]
