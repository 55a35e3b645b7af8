"""Clusters from features and must-link / cannot-link pairs of unknown noise."""

from copy import copy
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..checks import check_choice, check_count, check_ends
from ..dask_rows.prediction import on_blocks
from ..kernels import resolve_kernels
from ..noise.pair_sources import accuracies_of, weighed_by_source
from ..progress import Progress, Tell, part, teller
from ..review.diagnosis import CheckedPairs
from ..samples import for_users, is_dask, map_rows, persist, read_samples, take_rows
from ..statements import Pairs
from ..statements.graph import pair_keys
from ..statements.noise import resolve_pairs
from ..statements.verdicts import Verdicts
from ..ties import NEARLY, most_probable
from .classes.evidence import PairEvidence, with_both_kinds
from .classes.features import ClassFeatures, NoFeatures, fit_columns
from .classes.from_sample import FeaturePredictor, predict_all, rows_to_learn_from
from .classes.results import (
    WIDE_INTERVAL,
    clusters_without_pairs,
    fits_by_count,
    likely_fits,
    noise_intervals,
    noise_of,
    quality_of,
    words_about,
    words_about_sample,
)
from .classes.search import ClassFit, ClassSearch, Found, sharpened
from .on_dask import fit_classes_on_cluster, probabilities_at

__all__ = ["NoisyPairClustering"]

Array = NDArray[np.float64]

#: With ``sample_size="auto"``, classes are learned from this many samples.
SAMPLE_SIZE = 20_000
#: For the progress: the share of the time in which the number of classes is found.
COUNTING = 0.5


class NoisyPairClustering(ClusterMixin, BaseEstimator):
    r"""Cluster samples by their features and by pairs, of which an unknown part is wrong.

    Sample i has a class :math:`z_i`. Features tell the class by a kernel classifier that is learned together with the
    classes. A pair is labelled wrongly with two unknown rates,

    .. math:: a = \Pr(\text{given } - \mid z_i = z_j), \qquad b = \Pr(\text{given } + \mid z_i \ne z_j).

    Classes, classifier and rates are learned by turns, from several starts; belief propagation keeps a wrong pair from
    vouching for itself. Clusters of the features alone are always among the candidates, and pairs that are held out
    decide: where the pairs do not help, the estimator ignores them and says so in ``diagnostic_``.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        "auto": the fewest classes that tell the labels of the pairs, each left out, as well as the best number up to
        one standard error. Without pairs: the number of clusters with the best silhouette.
    kernels : kernel, family of kernels, sequence of both, or None, default=None
        What the classifier sees. None: a linear kernel and two Gaussian kernels of the standardised columns. Words
        (sparse rows, or rows that are mostly zero) are weighted by tf-idf and reduced to 200 coordinates first.
    metric : {"features", "coordinates", "precomputed"}, default="features"
        "coordinates": the scales of the columns mean something, as in an embedding, so that columns are not
        standardised. "precomputed": X is a symmetric similarity, (n, n) in ``fit`` and (n_new, n) in ``predict``.
    sample_size : int, "auto" or None, default="auto"
        Where X has more samples, classes, classifier, rates and number of clusters are learned from about this many
        samples and the pairs among them. Then the classifier judges every sample, and all pairs correct the samples
        that occur in pairs. "auto": 20,000. None: all samples, which is for data in memory. A similarity is always
        used as a whole.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    probabilities_ : ndarray of shape (n_samples, n_clusters)
        Probabilities of the classes, by features and pairs. Both are Dask arrays if X is a Dask collection.
    n_clusters_ : int
    noise_ : PairNoise
        The fractions of right labels among the pairs given as +1 and as -1, and of pairs that share a class: means of
        ``pair_quality_``. ``noise_.flip_rates`` are the rates a and b.
    noise_intervals_ : dict of str to pair of float
        95 % intervals of "prior", "precision_positive" and "precision_negative", and of the rates a and b under
        "flipped_positive" and "flipped_negative".
    pair_quality_ : ndarray of shape (n_pairs,)
        The chance that the label of each given pair is right.
    held_out_probabilities_ : ndarray of shape (n_pairs,)
        The chance that the samples of each given pair share a class, by a fit to other pairs only. Where the classes
        were learned from a sample: by all that is known but the label of the pair.
    pairs_ : Pairs or None
        The given pairs, or the pairs made from y.
    pair_sources_ : structured array with one row per source
        If the pairs have ``sources``: ``source``, ``n_answers``, ``accuracy`` and its 90 % interval ``low``, ``high``.
    pairs_help_ : bool
        Whether the clusters use the pairs: whether classes from features and pairs tell more of held-out pairs than
        clusters of the features alone.
    diagnostic_ : dict
        "pairs" and "features" say in words whether either helps; "gain" is the number of bits per held-out pair that
        the pairs add, "gain_error" its standard error, "feature_bits" the number of bits per sample that features tell
        of the classes, and "reliable" whether the noise can be relied on. With pairs that were drawn by a plan and
        checked, "reason" is what they guarantee. "sample" says in words how many samples and pairs the classes were
        learned from, where these were not all.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Pairs count by their weights, and with ``sources`` also as far as their source is right: classes are learned
    twice, the second time with weights by the accuracies that the first time found. A pair that is given several
    times, by several people or with both labels, counts as several answers. If all pairs are of one kind, as many
    pairs of the other kind are drawn at random: links tell that two samples share a class more often than by
    chance.

    Time and memory grow linearly with samples and pairs. Where the classes are learned from a sample, gains and
    intervals come from the pairs within the sample, and the intervals include the estimates from all pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import NoisyPairClustering, Pairs
    >>> y = np.repeat([0, 1, 2], 50)
    >>> X = np.eye(3)[y] + 0.4 * np.random.RandomState(0).randn(150, 3)
    >>> pairs = Pairs.from_labels(y, n_pairs=600, random_state=0).flip(0.2, random_state=0)
    >>> model = NoisyPairClustering(3, random_state=0).fit(X, pairs=pairs)
    >>> bool(np.abs(np.array(model.noise_.flip_rates) - 0.2).max() < 0.05)
    True
    >>> model.predict_pairs([0, 0], [1, 149])
    array([ 1, -1])
    """

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = "auto",
        *,
        kernels: Any = None,
        metric: Literal["features", "coordinates", "precomputed"] = "features",
        sample_size: int | Literal["auto"] | None = "auto",
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.metric = metric
        self.sample_size = sample_size
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        pairs: Pairs | None = None,
        checked: Verdicts | None = None,
        progress: Progress = None,
    ) -> Self:
        """Find the classes and the noise of the pairs.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features), or None
            None: the pairs alone tell the classes, which needs several pairs per sample.
        y : array-like of shape (n_samples,), optional
            Known classes, -1 for unknown; pairs are made from the classes if no pairs are given.
        pairs : Pairs, optional
            With neither ``pairs`` nor ``y``, the features are clustered.
        checked : Verdicts, optional
            What people found who checked some of the given pairs: positions in the list of pairs, with 1 or -1. See
            :func:`plan_checks`. Checked pairs are certain: classes and rates follow from them, and they calibrate the
            chances of all other pairs. If they were drawn by a plan, the intervals of the prior and of the precisions
            are those of :meth:`PairNoise.guaranteed`.
        progress : bool or callable, optional
            True prints how much is done, and the time that is left, on the standard error after 10 seconds. A function
            is called with the number of steps that are done, and the number of all steps.

        Returns
        -------
        self

        Notes
        -----
        On a Dask cluster, X is a Dask array or DataFrame of numbers, and ``pairs`` is a ``Pairs`` or a Dask DataFrame
        with the columns row, col, label and perhaps weight, which is brought to this process. The samples stay on the
        workers, and so do ``labels_`` and ``probabilities_``. ``compute()`` them, or delete them, before the model is
        saved.
        """
        check_choice("metric", self.metric, ("features", "coordinates", "precomputed"))
        if self.n_clusters != "auto":
            check_count("n_clusters", self.n_clusters)
        if self.sample_size is not None and self.sample_size != "auto":
            check_count("sample_size", self.sample_size, least=2)
        tell = teller(progress, "finding classes")
        if is_dask(X) or is_dask(pairs):
            return fit_classes_on_cluster(self, X, y, pairs, checked, tell)
        if X is None and isinstance(pairs, Pairs):
            samples, n_samples = None, pairs.n_samples
        else:
            samples = self._read(X, fitting=True)
            n_samples = samples.shape[0]
        return self._fit_rows(samples, n_samples, y, pairs, checked, tell)

    def _fit_rows(self, samples: Any, n_samples: int, y: Any, pairs: Any, checked: Any, tell: Tell) -> Self:
        """Fit samples in memory or in row blocks on a cluster; None: the pairs alone tell the classes."""
        rng = check_random_state(self.random_state)
        if self.n_clusters != "auto" and self.n_clusters > n_samples:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the {n_samples} samples of X")
        if self.n_clusters != "auto" and self.n_clusters > self._most_learned_from:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than sample_size={self.sample_size}; give a larger one"
            )
        self.pairs_ = resolve_pairs(pairs, y, n_samples, random_state=rng, required=False, both_kinds=False)
        used = Pairs([], [], [], n_samples=n_samples) if self.pairs_ is None else with_both_kinds(self.pairs_, rng)
        labels, index = PairEvidence.of_pairs(used)
        if checked is not None and not isinstance(pairs, Pairs):
            raise ValueError("checked has positions in the list of pairs, so pairs must be given with it")
        given = used if self.pairs_ is None else self.pairs_
        told = CheckedPairs.of(checked, given, index[: len(given)], labels.n_pairs)
        sources = given.sources
        first = tell if sources is None else part(tell, 0.0, 0.5)
        found, fit = self._learn(samples, labels.checked(told.truth), rng, first)
        self._keep(found, fit, labels, used, index, told)
        if sources is not None:
            labels = PairEvidence.of_pairs(weighed_by_source(used, sources, self.pair_quality_))[0]
            found, fit = self._learn(samples, labels.checked(told.truth), rng, part(tell, 0.5, 1.0))
            self._keep(found, fit, labels, used, index, told)
            self.pair_sources_ = accuracies_of(sources, self.pair_quality_)
        return self

    def _learn(
        self, samples: Any, evidence: PairEvidence, rng: np.random.RandomState, tell: Tell
    ) -> tuple[Found, ClassFit]:
        """Search the classes of all samples or of some, predict all, and return the search and the fit of all."""
        seed, n_samples = int(rng.randint(2**31)), evidence.n_samples
        whole = samples is None or self.metric == "precomputed" or n_samples <= self._most_learned_from
        drawn = None if whole else rows_to_learn_from(evidence, int(self._most_learned_from), rng)
        few, among = (samples, evidence) if drawn is None else (take_rows(samples, drawn), evidence.among(drawn))
        found = self._search(self._prepare(few, rng), among, seed, tell)
        fit, self.probabilities_, self._predictor = found.fit, found.fit.belief, None
        if isinstance(self._features, ClassFeatures) and fit.told is not None:
            self._predictor = self._features.predictor(sharpened(fit.belief), fit.told)
        del self._features  # the decomposition is as large as the data, and new samples do not need it
        if drawn is not None:
            assert self._predictor is not None  # there are features
            predictor = FeaturePredictor(self._front, self._predictor, found.ignores_pairs)
            fit, self.probabilities_ = predict_all(found, drawn, samples, predictor, evidence)
        return found, fit

    @property
    def _most_learned_from(self) -> float:
        if self.sample_size is None:
            return np.inf
        return SAMPLE_SIZE if isinstance(self.sample_size, str) else int(self.sample_size)

    @on_blocks(lambda model: (), dtype=lambda model: np.dtype(np.intp), sent=lambda model: model._for_new_samples())
    def predict(self, X: Any) -> NDArray[np.intp]:
        """The most probable class of new samples, by their features."""
        return most_probable(self.predict_proba(X))

    @on_blocks(lambda model: (model.n_clusters_,), sent=lambda model: model._for_new_samples())
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes of new samples, by their features.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            For metric="precomputed": similarities of the new samples to the samples of ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        if self._predictor is None:
            raise ValueError("X was None in fit, so there are no features to predict the classes of new samples by")
        samples = self._read(X, fitting=False)
        return self._predictor(samples if self._front is None else self._front(samples))

    def pair_probabilities(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        """The chance that two samples of ``fit`` share a class, for any pairs of them.

        For a given pair this is the chance that ``pair_quality_`` comes from.

        Parameters
        ----------
        rows, cols : array-like of int
            Positions of the samples.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        check_is_fitted(self)
        left, right = check_ends(rows, cols, len(self.labels_))
        chance = np.einsum("tk,tk->t", *probabilities_at(self.probabilities_, left, right))
        keys = pair_keys(left, right)
        position = np.minimum(np.searchsorted(self._known_keys, keys), max(len(self._known_keys) - 1, 0))
        if len(self._known_keys):
            known = self._known_keys[position] == keys
            chance = np.where(known, self._known_chances[position], chance)
        return np.where(left == right, 1.0, np.clip(chance, 0.0, 1.0))

    def predict_pairs(self, rows: ArrayLike, cols: ArrayLike) -> NDArray[np.int64]:
        """+1 where two samples of ``fit`` probably share a class, otherwise -1."""
        return np.where(self.pair_probabilities(rows, cols) >= 0.5 - NEARLY, 1, -1)

    def _for_new_samples(self) -> Self:
        """A copy without what belongs to the samples and the pairs of ``fit``."""
        light = copy(self)
        for name in (
            "labels_",
            "probabilities_",
            "pairs_",
            "pair_quality_",
            "held_out_probabilities_",
            "_known_keys",
            "_known_chances",
        ):
            light.__dict__.pop(name, None)
        return light

    def _read(self, X: Any, *, fitting: bool) -> Any:
        checked = read_samples(self, X, reset=fitting, ensure_min_samples=2 if fitting else 1)
        if self.metric == "precomputed" and fitting and checked.shape[0] != checked.shape[1]:
            raise ValueError(f'with metric="precomputed" X must be a square similarity, got shape {checked.shape}')
        return checked

    def _prepare(self, samples: Any, rng: np.random.RandomState) -> Array | None:
        """Fit the columns and the features of the classifier; return the columns that are clustered."""
        self._front: Any = None
        self._features: ClassFeatures | NoFeatures = NoFeatures()
        if samples is None:
            return None
        if self.kernels is None:
            self._front = fit_columns(samples, self.metric, rng)
            columns = self._front(samples)
            self._features = ClassFeatures.of_kernels(columns, None, rng)
            return columns
        names = getattr(self, "feature_names_in_", None)
        kernels = resolve_kernels(self.kernels, samples.shape[1], names)
        self._features = ClassFeatures.of_kernels(samples, kernels, rng)
        return self._features.principal

    def _search(self, columns: Array | None, evidence: PairEvidence, seed: int, tell: Tell) -> Found:
        n_clusters, counting = self.n_clusters, COUNTING if self.n_clusters == "auto" and evidence.n_pairs else 0.0
        if n_clusters == "auto":
            if evidence.n_pairs:
                fits = fits_by_count(columns, self._features, evidence, seed, part(tell, 0.0, counting))
                n_clusters = likely_fits(fits)[0].n_used
            elif isinstance(self._features, ClassFeatures) and columns is not None:
                n_clusters = clusters_without_pairs(columns, self._features, evidence, seed)
            else:
                raise ValueError("X is None and there are no pairs, so there is nothing to cluster by; give pairs")
        return ClassSearch(columns, self._features, evidence, n_clusters, seed).find(part(tell, counting, 1.0))

    def _keep(
        self,
        found: Found,
        fit: ClassFit,
        labels: PairEvidence,
        used: Pairs,
        index: NDArray[np.intp],
        told: CheckedPairs,
    ) -> None:
        same = told.calibrated(fit.apart, labels.same(fit.apart, fit.rates), labels.plus >= labels.minus)
        self.labels_ = for_users(persist(map_rows(self.probabilities_, most_probable)))
        self.probabilities_ = for_users(self.probabilities_)
        self.n_clusters_ = fit.belief.shape[1]
        self.pairs_help_ = bool(labels.n_pairs) and not found.ignores_pairs
        self._known_keys, self._known_chances = pair_keys(labels.rows, labels.cols), same
        self.pair_quality_, self.noise_, self.noise_intervals_ = np.zeros(0), None, {}
        self.held_out_probabilities_ = np.zeros(0)
        if self.pairs_ is not None:
            held = found.held_same[found.best] if fit is found.fit else fit.apart
            self.held_out_probabilities_ = held[index[: len(self.pairs_)]]
            quality = quality_of(same[index], used)
            self.pair_quality_ = quality[: len(self.pairs_)]
            self.noise_ = noise_of(quality, used)
            share = float(np.average(used.labels > 0, weights=used.weights))
            self.noise_intervals_ = told.guaranteed(self.noise_, noise_intervals(found, self.noise_, share))
        sample = words_about_sample(found, labels)
        self.diagnostic_ = words_about(found, self.noise_intervals_) | sample | told.words(WIDE_INTERVAL)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
