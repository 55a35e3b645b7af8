"""TPCMC: the classes of all pairs from a similarity and a few known pairs."""

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..checks import check_choice, check_count, check_ends, is_number, require
from ..kernels.specs import is_precomputed
from ..pairs.noisy_clustering import NoisyPairClustering
from ..progress import Progress, Tell, part, silent, teller
from ..samples import for_users, in_memory, is_dask, sample_product, tagged
from ..statements import Pairs
from ..statements.noise import resolve_pairs
from .basis import ExtendedBasis, Similarity, is_in_blocks, leading_basis, read_new, read_similarity, refuse_distances
from .core import KnownBlock, known_block
from .core_fit import METHODS, CoreFitter, FittedCore, is_contradictory, warn_of_doubtful_core
from .held_out import (
    MOST_COORDINATES,
    Calibration,
    audit_by_classes,
    candidates,
    check_components,
    choose_components,
    classes_predict_better,
    fit_classes,
)

#: The largest noise rate that "auto" uses: at one half pairs carry no information, and the correction is infinite.
MOST_NOISE = 0.45
#: For the progress: eigenvectors, choice of their number, core; the choice takes two of the four steps.
N_STEPS = 4


@dataclass(eq=False, repr=False)
class PairCompleter(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Estimate for every pair whether it shares a class, from a similarity and a few known pairs (TPCMC).

    The label matrix Z, 1 for pairs of one class and 0 for other pairs, is estimated within the span of the s leading
    eigenvectors U of the similarity:

    .. math:: Z' = U M U^\top, \qquad M = \hat U^\dagger \hat Z (\hat U^\dagger)^\top \tag{5}

    where :math:`\hat U` are the rows of the m labelled samples, which are the samples that occur in a known pair, and
    :math:`\hat Z` is their label matrix. ``method="completion"`` is the paper's way, where the label matrix solves

    .. math:: \min_{\hat Z} \|\hat Z\|_* \quad\text{s.t.}\quad \hat Z_{ij} = 1 \text{ or } 0
              \text{ for the known pairs } (i, j) \tag{2}

    ``method="direct"``, the default, skips the completion and fits M to the known entries. No n x n or m x m matrix is
    formed, except that a bound is proven with an m x m matrix for up to 500 labelled samples.

    Parameters
    ----------
    n_components : int, sequence of int or "auto", default=50
        Number s of eigenvectors, less than the number of labelled samples. Of several numbers, the one with the least
        error on pairs of held-out samples is taken; the numbers are tried in ascending order until the error grows.
        "auto" tries 5, 10, 20, 50, 100, 200.
    method : {"direct", "completion", "unit-diagonal"}, default="direct"
        "completion" is the method of the paper. If the solution of (2) makes M indefinite, the positive part of M is
        kept. "direct" is the penalised completion within the span of the basis,
        :math:`\min_{M \succeq 0} P(M) = \sum_\Sigma w_{ij} (\hat u_i^\top M \hat u_j - \hat Z_{ij})^2
        + c\, \mathrm{tr}(\hat U M \hat U^\top)`, where the weights have a mean of one. "unit-diagonal" completes by any
        positive semi-definite matrix of unit diagonal that has the known entries. All such matrices have the same
        trace, so the bounds of its certificate are equal from the start and say nothing
        (see :mod:`kernelwise.completion.core_fit`).
    kernels : "precomputed" or kernels, default="precomputed"
        "precomputed": ``fit`` gets the similarity. Otherwise ``fit`` gets features, and the similarity is the mean of
        these kernels.
    normalize : {"none", "symmetric"}, default="none"
        Use the eigenvectors of S, as in the paper, or of :math:`D^{-1/2} S D^{-1/2}`, which suits neighbour graphs.
    noise_rate : float, "auto" or None, default=None
        Fraction of the known pairs that is wrong, below 1/2. Values are then corrected,
        :math:`(z - e) / (1 - 2 e)`, and the fit is not exact but penalised according to the variance of the flips.
        "auto": a model of classes (:class:`~kernelwise.NoisyPairClustering`) in the coordinates of the basis estimates
        the fraction; at least ten known pairs are needed. The same model answers instead of the core, if it predicts
        held-out pairs better; ``class_model_`` says so (see :mod:`kernelwise.completion.held_out`). "auto" takes
        far longer than a given fraction.
    penalty : float or None, default=None
        c of the direct fit, or of the penalised completion. None: c follows from the noise that is given or found.
    refine : bool, default=True
        Adjust the rows of labelled samples to their own known pairs, and the other rows accordingly, if this predicts
        held-out pairs better (see :mod:`kernelwise.completion.core_fit`). False: the basis alone places all
        samples, as in the paper.
    calibrate : bool, default=True
        Hold out a third of the labelled samples once to learn how scores relate to probabilities.
    eigen_tol : float, default=0.01
        Relative accuracy of the eigenvalues for more than 5,000 samples; 0 for machine precision, which can take long.
    rank : None, int or float, default=None
        For kernels on features: as in :func:`kernelwise.kernels.build_bank`.
    tol : float, default=1e-4
        Relative duality gap of the completion or of the direct fit.
    max_iter : int, default=1000
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    factor_ : ndarray of shape (n_samples, r)
        F with :math:`Z' = F F^\top`; without ``refine``, :math:`Z' = U M U^\top`. With a class model, the probabilities
        of the classes.
    class_model_ : NoisyPairClustering or None
        With ``noise_rate="auto"``, the model of classes that answers instead of the core; None if the core answers.
        ``core_``, ``penalised_core_`` and the certificates are those of the core in both cases.
    basis_ : ndarray of shape (n_samples, n_components)
    eigenvalues_ : ndarray of shape (n_components,)
    core_ : ndarray of shape (n_components, n_components)
    coherence_ : float
        :math:`\mu_s`; with a lower coherence fewer labelled samples are needed.
    labelled_ : ndarray of int
        The samples that occur in known pairs.
    completion_ : Completion or None
        The completed block, the solution of (2); None for the direct method.
    certificate_ : Certificate
        For the direct method, P(``core_``) and a lower bound on the least P. The two differ by more than ``tol``,
        because the shrinkage of the penalty is undone and rows are refined: this raises P, and predicts better. For the
        completion, the certificate of ``completion_``.
    solver_certificate_ : Certificate
        For the direct method, P(``penalised_core_``) and the same lower bound: how well the convex problem is solved.
        ``converged_`` is about these bounds.
    penalised_core_ : ndarray of shape (n_components, n_components) or None
        The solution of the direct fit before the shrinkage is undone and rows are refined; None for the completion.
    penalty_ : float
        c as used; 0 for an exact completion.
    noise_rate_ : float
    audit_ : PairAudit
        With ``noise_rate="auto"`` only: what the model of classes says of the known pairs, also if the core answers.
    calibration_ : scores and probabilities
        Points of the increasing function from scores to probabilities.
    component_errors_ : dict
        Mean squared error on held-out pairs for the numbers of eigenvectors tried.
    n_components_, n_iter_ : int
    converged_ : bool
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A sample that occurs in no known pair is placed by its similarities alone.

    Which method? With a tenth of the pairs of a fifth of Citeseer's documents known, clusters have an NMI of .37 by the
    completion and by the direct fit. With few pairs (113 pairs among 48 of 200 samples in four classes) the balanced
    accuracy over all pairs is 1.00 by the direct fit, .54 by the completion, .61 with a unit diagonal and .51 by
    :class:`~kernelwise.TransitiveClosure` (``python -m benchmarks wrong_known_pairs``). The exact completion also keeps
    wrong pairs if no noise rate is given. Hence "direct" is the default.

    A similarity in a Dask array, or the :class:`~kernelwise.spectral.GramFactor` of a Dask array, stays on the workers.
    Only the rows of the basis at the labelled samples are brought into memory, where the core is found. ``basis_`` and
    ``factor_`` are then Dask arrays, and ``noise_rate="auto"`` uses the labelled samples alone.

    References
    ----------
    T. Yang, R. Jin. Extracting certainty from uncertainty: transductive pairwise classification from pairwise
    similarities. NIPS 2014.

    Examples
    --------
    Of 200 samples in four classes, 60 are labelled, in pairs:

    >>> import numpy as np
    >>> from kernelwise import PairCompleter, Pairs
    >>> from kernelwise.datasets import make_block_similarity
    >>> S, y = make_block_similarity(200, 4, random_state=0)
    >>> known = Pairs.from_labels(np.where(np.arange(200) % 10 < 3, y, -1), n_pairs=600, random_state=0)
    >>> model = PairCompleter(n_components=8, random_state=0).fit(S, pairs=known)
    >>> model.predict_pairs([0, 0], [49, 199])
    array([ 1, -1])
    >>> everything = Pairs.from_labels(y)
    >>> float(np.mean(model.predict_pairs(everything.rows, everything.cols) == everything.labels))
    1.0
    """

    n_components: int | Sequence[int] | Literal["auto"] = 50
    _: KW_ONLY
    method: Literal["direct", "completion", "unit-diagonal"] = "direct"
    kernels: Any = "precomputed"
    normalize: Literal["none", "symmetric"] = "none"
    noise_rate: float | Literal["auto"] | None = None
    penalty: float | None = None
    refine: bool = True
    calibrate: bool = True
    eigen_tol: float = 0.01
    rank: int | float | None = None
    tol: float = 1e-4
    max_iter: int = 1000
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None, progress: Progress = None) -> Self:
        """Estimate the label matrix.

        Parameters
        ----------
        X : array, sparse matrix, LinearOperator or GramFactor of shape (n_samples, n_samples)
            The similarity; its symmetric part is used. With ``kernels``, features of shape (n_samples, n_features). A
            matrix that holds distances is refused: see :func:`kernelwise.completion.basis.refuse_distances`.
            On a cluster: a Dask array of dense or sparse blocks, symmetric, or the GramFactor of a Dask array.
        y : array-like of shape (n_samples,), optional
            Known classes, -1 for unknown; pairs are made from the classes if no pairs are given.
        pairs : Pairs or Dask frame, optional
            The known pairs. A frame has the columns row, col, label (+1 or -1) and perhaps weight, which are brought
            into memory.
        progress : bool or callable, optional
            True prints how much is done, and the time that is left, on the standard error after 10 seconds. A function
            is called with the number of steps that are done, and the number of all steps. On a Dask cluster nothing is
            told.

        Returns
        -------
        self
        """
        self._check_options()
        if is_dask(y):
            raise TypeError(
                "y is a Dask collection; pass pairs, or the known classes as a NumPy array with -1 elsewhere"
            )
        if is_in_blocks(X):
            from .on_dask import fit_on_cluster

            return fit_on_cluster(self, X, y, pairs)
        similarity = read_similarity(self, X)
        rng = check_random_state(self.random_state)
        known = pairs
        if is_dask(pairs):
            from ..dask_rows.labelled_pairs import pairs_in_memory

            known = pairs_in_memory(pairs, similarity.n_samples)
        known = resolve_pairs(known, y, similarity.n_samples, random_state=rng, both_kinds=False)
        assert known is not None  # they are required
        refuse_distances(similarity.matrix, known)
        return self._complete(similarity, known, rng, teller(progress, f"completing {len(known)} known pairs"))

    def _complete(self, similarity: Similarity, known: Pairs, rng: np.random.RandomState, tell: Tell = silent) -> Self:
        block = known_block(known)
        counts = candidates(self.n_components, len(block.index), similarity.n_samples)
        basis = leading_basis(similarity, max(counts), normalize=self.normalize, tol=self.eigen_tol, random_state=rng)
        tell(1, N_STEPS)
        labelled = basis.rows(block.index)
        classes: NoisyPairClustering | None = None
        if self.noise_rate != "auto":
            self.noise_rate_ = 0.0 if self.noise_rate is None else float(self.noise_rate)
        else:
            # The model of classes in the coordinates of the basis; on a cluster, of the labelled samples alone: samples
            # without known pairs change nothing but the number of samples.
            here = in_memory(basis.vectors)
            rows, judged = (basis.vectors, known) if here else (labelled, known.restrict(block.index))
            classes = fit_classes((rows * basis.scales)[:, :MOST_COORDINATES], judged, rng)
            self.audit_ = audit_by_classes(classes)
            wrong = np.average(1.0 - self.audit_.quality, weights=self.audit_.pairs.weights)
            self.noise_rate_ = min(float(wrong), MOST_NOISE)
        exact = self.method != "direct" and not (self.penalty or self.noise_rate_)
        if exact and is_contradictory(block):  # said before the work, which can take long for such pairs
            warnings.warn(
                "known pairs contradict each other, so some are wrong, but all are taken at their word; set "
                'noise_rate, or use method="direct"',
                stacklevel=3,
            )
        fitter = CoreFitter(self.method, self.noise_rate_, self.penalty, self.tol, self.max_iter, self.refine)
        choosing = part(tell, 1 / N_STEPS, 1 - 1 / N_STEPS)
        choice = choose_components(
            fitter, labelled, block, counts, calibrate=self.calibrate, random_state=rng, tell=choosing
        )
        tell(N_STEPS - 1, N_STEPS)
        count, self.component_errors_, self.calibration_ = choice
        chosen, completion = basis.leading(count), fitter.complete(block, rng)
        core = fitter.fit(labelled[:, :count], block, completion, rng)
        self._keep(chosen, block, completion, core)
        self.class_model_ = None
        if classes is not None and in_memory(basis.vectors):
            core_factor = partial(fitter.factor, chosen.vectors, random_state=rng)
            if classes_predict_better(classes, known, core_factor, rng):
                self.class_model_, self._class_basis = classes, basis.leading(MOST_COORDINATES)
                self.factor_ = classes.probabilities_
                self._n_features_out = self.factor_.shape[1]
                self.calibration_ = Calibration(np.array([0.0, 1.0]), np.array([0.0, 1.0]))  # scores are probabilities
        warn_of_doubtful_core(core, self.coherence_)
        if self.calibration_ is None:
            scores = sample_product(core.labelled_rows, core.labelled_rows, block.rows, block.cols)
            self.calibration_ = Calibration.fit(scores, block, self.noise_rate_)
        tell(N_STEPS, N_STEPS)
        return self

    def pair_scores(self, rows: Any, cols: Any) -> Any:
        """Entries of the estimated label matrix: near 1 for pairs of one class, near 0 for other pairs.

        Parameters
        ----------
        rows, cols : array-like of int, or Dask array or series
            Samples of ``fit``.

        Returns
        -------
        ndarray, or a Dask array for pairs in a Dask collection
        """
        check_is_fitted(self)
        check = partial(check_ends, n_samples=len(self.factor_), remedy="; for new samples see transform")
        if is_dask(self.factor_) or is_dask(rows) or is_dask(cols):
            from .on_dask import pair_products

            return pair_products(self.factor_, rows, cols, check)
        return sample_product(self.factor_, self.factor_, *check(rows, cols))

    def predict_pairs(self, rows: Any, cols: Any) -> Any:
        """Labels as in :class:`Pairs`: +1 for pairs with a score of at least one half, -1 for other pairs."""
        return np.where(self.pair_scores(rows, cols) >= 0.5, 1, -1)

    def predict_proba_pairs(self, rows: Any, cols: Any) -> Any:
        """Probabilities that pairs share a class.

        The probabilities are calibrated on pairs of held-out samples, or on the known pairs themselves if there are too
        few of them or ``calibrate`` is False.
        """
        scores = self.pair_scores(rows, cols)
        assert self.calibration_ is not None  # since fit
        return scores.map_blocks(self.calibration_) if is_dask(scores) else self.calibration_(scores)

    def label_matrix(self, *, max_gigabytes: float = 2.0) -> Any:
        """The whole n x n matrix of scores, unless it is too large; a Dask array where ``factor_`` is a Dask array."""
        check_is_fitted(self)
        n_samples = len(self.factor_)
        needed = 8e-9 * n_samples**2
        if needed > max_gigabytes:
            raise ValueError(
                f"the label matrix of {n_samples} samples takes {needed:.3g} GB, more than max_gigabytes="
                f"{max_gigabytes:g}; use pair_scores(rows, cols), or factor_ @ factor_[some].T"
            )
        if not is_dask(self.factor_):
            require(8 * n_samples**2, f"the label matrix of {n_samples} samples", "use pair_scores(rows, cols)")
        return self.factor_ @ self.factor_.T

    def transform(self, X: Any) -> Any:
        """Rows of the factor for new samples, by Nystroem's formula; scores of pairs are their inner products.

        Parameters
        ----------
        X : array, sparse matrix or Dask array of shape (n_new, n_samples)
            Similarities of new samples to the samples of ``fit``; with ``kernels``, features of shape (n_new,
            n_features). ``transform(X) @ factor_.T`` are the scores of pairs of a new sample and a sample of ``fit``.

        Returns
        -------
        ndarray of shape (n_new, r), or a Dask array where X is one
        """
        check_is_fitted(self)
        new = read_new(self, X)
        if self.class_model_ is not None:
            return self.class_model_.predict_proba(self._class_basis.extend(new) * self._class_basis.scales)
        return self._extended.extend(new) @ self._root

    def _keep(self, basis: ExtendedBasis, block: KnownBlock, completion: Any, core: FittedCore) -> None:
        self.core_, self.factor_ = core.root @ core.root.T, core.factor(basis.vectors, block.index)
        self.n_components_, self._n_features_out = basis.vectors.shape[1], core.root.shape[1]
        self.completion_, self.certificate_, self.penalty_ = completion, core.certificate, core.penalty
        self.solver_certificate_, self.penalised_core_ = core.solver_certificate, core.solved
        self.n_iter_, self.converged_ = core.n_iter, core.converged
        self.coherence_ = basis.coherence
        basis, self.factor_ = for_users(basis), for_users(self.factor_)
        self._extended, self._root = basis, core.root
        self.basis_, self.eigenvalues_, self.labelled_ = basis.vectors, basis.values, block.index

    def _check_options(self) -> None:
        """Refuse options that cannot work, before any data is touched."""
        check_choice("method", self.method, METHODS)
        check_choice("normalize", self.normalize, ("none", "symmetric"))
        check_components(self.n_components)
        limits = {"noise_rate": (self.noise_rate, 0.5), "penalty": (self.penalty, np.inf), "tol": (self.tol, 1.0)}
        limits["eigen_tol"] = (self.eigen_tol, 1.0)
        for name, (value, limit) in limits.items():
            if (value is None and name in ("noise_rate", "penalty")) or (name, value) == ("noise_rate", "auto"):
                continue
            if not (is_number(value) and 0 <= float(value) < limit):
                raise ValueError(f"{name} must be a number of at least 0 and less than {limit:g}, got {value!r}")
        if self.method == "direct" and self.penalty == 0:
            raise ValueError('penalty must be positive for method="direct", got 0; use a small one, such as 1e-6')
        check_count("max_iter", self.max_iter)

    def __sklearn_tags__(self) -> Tags:
        return tagged(super().__sklearn_tags__(), sparse=True, pairwise=is_precomputed(self.kernels), required=True)
