"""Find wrong pairs and estimate how many pairs are wrong, with checked pairs or without."""

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_array, check_random_state

from ...checks import Index, IntArray, check_choice, check_count
from ...noise.pair_sources import weighed_by_source
from ...progress import Progress, Tell, part, teller
from ...records.audit import audit_record_pairs
from ...records.recognition import looks_like_records
from ...review import PairAudit
from ...review.diagnosis import CheckedPairs
from ...samples import n_rows, tidy
from ...statements import PairNoise, Pairs
from ...statements.graph import pair_keys
from ...statements.noise import resolve_pairs
from ...statements.verdicts import Verdicts
from ...ties import NEARLY
from ..classes.evidence import with_both_kinds
from ..classes.features import ClassFeatures
from ..classes.results import WIDE_INTERVAL
from .judgements import (
    Judgement,
    are_links,
    judge_by_classes,
    judge_links,
    likely_models,
    link_fits,
    link_folds,
    link_rows,
    precisions,
)
from .views import activity

#: The least number of pairs.
LEAST_PAIRS = 10
KINDS = ("auto", "classes", "links", "records")
#: For the progress: the share of the time in which models of links are fitted, also if the pairs turn out as classes.
FITTED, FITTED_BEFORE_CLASSES = 0.5, 0.25


def audit_pairs(
    X: Any,
    pairs: Pairs,
    *,
    metric: Literal["features", "precomputed"] = "features",
    kind: Literal["auto", "classes", "links", "records"] = "auto",
    n_folds: int = 10,
    checked: Verdicts | None = None,
    random_state: Any = None,
    progress: Progress = None,
) -> PairAudit:
    r"""Find wrong pairs among given pairs, and estimate how many pairs are wrong; no checked pair is needed.

    There are three kinds of pairs, and each kind needs another way.

    - **Classes**: must-link and cannot-link pairs speak of a few classes of samples. Classes, rates of error and a
      classifier of the features are learned together, as in :class:`NoisyPairClustering`. True labels are transitive,
      so that contradictions between pairs show how many pairs are wrong. The chance of a pair is an average over the
      numbers of classes that tell the labels, each label left out, as well as the best number.
    - **Links** of graphs follow more than classes: some samples have many links, and similar samples are linked within
      a class and across classes. Links are ranked by clusters of the features smoothed over the links, where the fold
      of the link itself is left out. If the features tell less than half of the communities that the links form, or
      if many links cross them, the communities may be something else than classes. Then nothing is known of the
      share of wrong links, and the interval and the diagnostic say so.
    - **Records**: the question is whether two records describe the same thing. :func:`audit_record_pairs` judges such
      pairs by how alike the two records are.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame of shape (n_samples, n_features), or None
        Features; words may be sparse counts. None: pairs are compared with each other only, which needs many pairs per
        sample.
    pairs : Pairs
        Links with non-links drawn at random (:meth:`Pairs.from_graph`), links alone, must-link and cannot-link pairs,
        or known pairs of a completion. With ``sources``, pairs of classes count as far as their source is right.
    metric : {"features", "precomputed"}, default="features"
        "precomputed": X is a symmetric similarity of shape (n_samples, n_samples).
    kind : {"auto", "classes", "links", "records"}, default="auto"
        What the pairs speak of. "auto" finds out without any label: records if pairs that are given as different were
        chosen because they look alike; links if the number of positive pairs per sample varies more than by chance.
    n_folds : int, default=10
        Folds of links that are left out in turn.
    checked : Verdicts, optional
        What people found who checked some pairs: positions in the list of pairs, with 1 or -1. See :func:`plan_checks`.
        Checked pairs are certain, and they calibrate the qualities of all other pairs. If they were drawn by a plan,
        the intervals are those of :meth:`PairNoise.guaranteed`.
    random_state : int, RandomState or None, default=None
    progress : bool or callable, optional
        True prints how much is done, and the time that is left, on the standard error after 10 seconds. A function is
        called with the number of steps that are done, and the number of all steps.

    Returns
    -------
    PairAudit
        ``quality`` of every pair, ``order``, ``suggested`` labels, ``noise`` (a :class:`PairNoise`), ``intervals``,
        ``sources`` (how good every source is, if the pairs have sources), and ``diagnostic``: ``kind``, ``reliable``
        and ``reason``, which says in words what the audit rests on.
        The prior is that of the given pairs, :math:`p_+ = d_+ \Pr(\hat Y = +) + (1 - d_-) \Pr(\hat Y = -)`.

    Notes
    -----
    Classes that are partly wrong make the rates of error too large and never too small. So the intervals reach further
    down than up, the further the more the answers change if a quarter of the pairs is left out.

    If neither features nor links separate two classes, only checked pairs can find wrong links between these classes:
    among the citations of Citeseer 26 % are wrong, and 20 % are found to be wrong. If some of the pairs of such a graph
    are flipped in addition, its clusters blur, and too many links look wrong, by up to a tenth of all links. The same
    happens to the model of classes where features are weak and links are few.

    Time and memory grow linearly with samples and pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Pairs, audit_pairs
    >>> y = np.repeat([0, 1, 2], 50)
    >>> X = np.eye(3)[y] + 0.3 * np.random.RandomState(0).randn(150, 3)
    >>> pairs = Pairs.from_labels(y, n_pairs=1000, random_state=0).flip(0.1, random_state=0)
    >>> audit = audit_pairs(X, pairs, random_state=0)
    >>> wrong = pairs.labels != pairs.true_labels(y)
    >>> bool(wrong[audit.order[:50]].mean() > 0.9)
    True
    """
    check_choice("kind", kind, KINDS)
    check_choice("metric", metric, ("features", "precomputed"))
    check_count("n_folds", n_folds, least=2)
    n_samples = pairs.n_samples if X is None and isinstance(pairs, Pairs) else n_rows(X)
    given = resolve_pairs(pairs, None, n_samples, random_state=None, both_kinds=False)
    assert given is not None
    rng = check_random_state(random_state)
    tell = teller(progress, "auditing pairs")
    recognised = kind == "auto" and metric == "features" and looks_like_records(given, X)[0]
    if kind == "records" or recognised:
        return audit_record_pairs(X, given, checked=checked, random_state=rng, progress=tell)
    if (given.labels < 0).all():
        raise ValueError("all pairs are negative (-1), so nothing tells what pairs of one class look like; add some")
    learned = with_both_kinds(given, rng)
    if len(learned) < LEAST_PAIRS:
        raise ValueError(f"{len(given)} pairs are too few to judge each other; give at least {LEAST_PAIRS}")
    keys, index = np.unique(pair_keys(learned.rows, learned.cols), return_inverse=True)
    found = CheckedPairs.of(checked, given, index[: len(given)], len(keys))
    samples = None if X is None else _read(X, metric)

    judged = _judged(samples, learned, kind, metric, n_folds, found.truth, rng, tell)
    audit = _summary(judged, given, learned, index, found)
    if given.sources is None or judged.diagnostic["kind"] != "classes":
        return audit
    weighed = weighed_by_source(learned, given.sources, audit.quality)
    judged = judge_by_classes(samples, metric, learned, rng, found.truth, tell, weighed)
    return _summary(judged, given, learned, index, found)


def _judged(
    samples: Any,
    pairs: Pairs,
    kind: str,
    metric: str,
    n_folds: int,
    truth: IntArray,
    rng: np.random.RandomState,
    tell: Tell,
) -> Judgement:
    """Judge pairs as classes or as links; "auto" finds out which of the two they are by models of links."""
    if kind == "classes" or samples is None:
        return judge_by_classes(samples, metric, pairs, rng, truth, tell)
    rows, fold_of = link_rows(samples, metric, rng), link_folds(pairs, n_folds, rng)
    fitted = FITTED if kind == "links" else FITTED_BEFORE_CLASSES
    features = ClassFeatures.of_kernels(rows, None, rng)
    fits = link_fits(rows, features, pairs, rng, part(tell, 0.0, fitted))
    rest = part(tell, fitted, 1.0)
    if kind == "auto" and not are_links(likely_models(fits)[0], rows, activity(pairs, fold_of), pairs):
        return judge_by_classes(samples, metric, pairs, rng, truth, rest)
    return judge_links(rows, features, pairs, fold_of, fits, rng, rest)


def _summary(judged: Judgement, pairs: Pairs, learned: Pairs, index: Index, found: CheckedPairs) -> PairAudit:
    """The audit of the given pairs; ``index`` is the position of each learned pair among the distinct pairs."""
    n_given, entry = len(pairs), index[: len(pairs)]
    entries = found._replace(truth=found.truth[entry], weight=found.weight[entry])
    same = entries.calibrated(judged.apart[:n_given], judged.same[:n_given], pairs.labels > 0)
    d_pos, d_neg = precisions(np.concatenate([same, judged.same[n_given:]]), learned)
    share = float(np.average(pairs.labels > 0, weights=pairs.weights))
    quality = np.where(pairs.labels > 0, same, 1.0 - same)
    # The estimate must lie in its interval, also if the interval comes from numbers of clusters.
    low = np.clip(np.minimum(judged.low, (d_pos, d_neg)), 0.0, 1.0)
    high = np.clip(np.maximum(judged.high, (d_pos, d_neg)), 0.0, 1.0)
    priors = [share * d[0] + (1.0 - share) * (1.0 - d[1]) for d in ((low[0], high[1]), (high[0], low[1]))]
    prior = share * d_pos + (1.0 - share) * (1.0 - d_neg)
    intervals = {
        "prior": (float(priors[0]), float(priors[1])),
        "precision_positive": (float(low[0]), float(high[0])),
        "precision_negative": (float(low[1]), float(high[1])),
    }
    suggested = np.where(same >= 0.5 - NEARLY, 1, -1)
    noise = PairNoise(prior, d_pos, d_neg)
    diagnostic = {**judged.diagnostic, **found.words(WIDE_INTERVAL)}
    intervals = found.guaranteed(noise, intervals)
    return PairAudit(pairs, np.clip(quality, 0.0, 1.0), suggested, noise, intervals, diagnostic, found.checked)


def _read(X: Any, metric: str) -> Any:
    X = tidy(check_array(X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2))
    if metric == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(f'with metric="precomputed" X must be square, got shape {X.shape}')
    return X
