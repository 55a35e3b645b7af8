r"""What held-out pairs decide: the number of eigenvectors, probabilities of scores, and whether classes answer.

Most pairs that users ask for are pairs of samples without any known pair. So the number of eigenvectors and the
probabilities come from held-out *samples*: if both samples of a pair have helped to fit the core, the score of the pair
looks too good.

The core of TPCMC is linear in the known pairs, so that wrong pairs move it in proportion to their number. A model of
classes (:class:`~kernelwise.NoisyPairClustering`) weighs every pair against the features and against the other pairs.
One such model gives the share of wrong pairs that corrects the core, the audit of the pairs, and the classes. Its
features are the rows of the basis, scaled by the roots of the eigenvalues: the inner products of these rows are the
similarity. Up to 100 eigenvectors are used, also if the core is best with fewer of them: the core has a coefficient for
every two eigenvectors, whereas the scales of the rows tell the class model which eigenvectors matter.

The probabilities :math:`R` (n x K) of the classes give the label matrix :math:`Z' = R R^\top`, which has the form
:math:`F F^\top` of TPCMC. But a similarity need not have classes that such a model finds. So the core and the classes
both answer every known pair by fits to other pairs. The classes are taken if, where the two answers differ, the given
label agrees with the classes more often than with the core, by more than one standard error. Pairs given as +1 and as
-1 have the same total weight. The difference of the agreements is then proportional to the difference of the true
balanced accuracies, whatever the rates of wrong labels are: wrong labels make it smaller and favour neither.
"""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.isotonic import IsotonicRegression

from ..checks import Array, is_count
from ..pairs.noisy_clustering import NoisyPairClustering
from ..progress import Tell, silent
from ..review import PairAudit
from ..samples import sample_product
from ..statements import Pairs
from ..statements.graph import pair_keys
from ..ties import first_best
from .core import KnownBlock
from .core_fit import CoreFitter

#: Numbers of eigenvectors that n_components="auto" tries.
GRID = (5, 10, 20, 50, 100, 200)
#: More eigenvectors are not tried once the error is more than this many times the least error.
WORSE = 1.05
#: The fraction of the labelled samples that is held out.
HELD_OUT = 1 / 3
#: With fewer pairs than this to fit or to test, no sample is held out.
LEAST_PAIRS = 20


def check_components(n_components: Any) -> None:
    """Refuse an ``n_components`` that is wrong for any data."""
    if isinstance(n_components, str):
        if n_components != "auto":
            raise ValueError(f'n_components must be an int, several, or "auto", got {n_components!r}')
        return
    counts: list[Any] = list(n_components) if np.iterable(n_components) else [n_components]
    if not counts or not all(map(is_count, counts)):
        raise ValueError(f'n_components must be a positive int, several of them, or "auto", got {n_components!r}')


def candidates(n_components: Any, n_labelled: int, n_samples: int) -> list[int]:
    """The numbers of eigenvectors to try, all less than the number of labelled samples."""
    if isinstance(n_components, str):
        return [count for count in GRID if count < n_labelled] or [max(1, n_labelled - 1)]
    given: Any = [n_components] if isinstance(n_components, Integral) else n_components
    counts = sorted({int(count) for count in given})
    if counts[-1] > n_samples:
        raise ValueError(f"n_components={counts[-1]} is more than the {n_samples} samples")
    if counts[-1] >= n_labelled:
        raise ValueError(
            f"n_components={counts[-1]} must be less than the {n_labelled} labelled samples, those that occur in "
            'known pairs; label more of them, lower n_components, or set n_components="auto"'
        )
    return counts


class Calibration(NamedTuple):
    """The probability of one class as a function of the score: increasing, and linear between these points."""

    scores: Array
    probabilities: Array

    @classmethod
    def fit(cls, scores: Array, block: KnownBlock, noise_rate: float) -> Self:
        r"""Isotonic regression of the given labels on the scores, corrected for flips: :math:`(p - e) / (1 - 2 e)`."""
        isotonic = IsotonicRegression().fit(scores, block.values, sample_weight=block.weights)
        corrected = (isotonic.y_thresholds_ - noise_rate) / (1.0 - 2.0 * noise_rate)
        doubt = 1.0 / (len(scores) + 2.0)  # no probability is 0 or 1, as if one more pair of either label were known
        return cls(isotonic.X_thresholds_, np.clip(corrected, doubt, 1.0 - doubt))

    def __call__(self, scores: Array) -> Array:
        return np.interp(scores, self.scores, self.probabilities)


def choose_components(
    fitter: CoreFitter,
    labelled: Array,
    block: KnownBlock,
    counts: Sequence[int],
    *,
    calibrate: bool,
    random_state: np.random.RandomState,
    tell: Tell = silent,
) -> tuple[int, dict[int, float], Calibration | None]:
    """The number of eigenvectors with the least error on pairs of held-out samples, all errors, and probabilities."""
    if not calibrate and len(counts) == 1:
        return counts[0], {}, None
    held_out = random_state.permutation(len(block.index)) < HELD_OUT * len(block.index)
    n_held = held_out[block.rows].astype(int) + held_out[block.cols]
    if min((n_held == 0).sum(), (n_held == 2).sum()) < LEAST_PAIRS:
        return counts[0], {}, None
    rest, held = block.among(n_held == 0), block.among(n_held == 2)
    fitting, testing = (labelled[np.searchsorted(block.index, part.index)] for part in (rest, held))
    completion = fitter.complete(rest, random_state)
    truth, scores = held.corrected(fitter.noise_rate).values, {}
    errors: dict[int, float] = {}
    for count in counts:
        rows = testing[:, :count] @ fitter.fit(fitting[:, :count], rest, completion, random_state).root
        scores[count] = sample_product(rows, rows, held.rows, held.cols)
        errors[count] = float(np.average((scores[count] - truth) ** 2, weights=held.weights))
        tell(len(errors), len(counts))
        if errors[count] > WORSE * min(errors.values()):
            break  # the cost grows with the square of the number of eigenvectors
    best = list(errors)[first_best([-error for error in errors.values()])]
    return best, errors, Calibration.fit(scores[best], held, fitter.noise_rate) if calibrate else None


#: The number of eigenvectors, at most, that the class model sees.
MOST_COORDINATES = 100
#: The core is fitted without one part of the known pairs after another.
FOLDS = 4
#: Fewer pairs cannot judge each other, and with fewer pairs than ENOUGH the core is kept.
FEWEST, ENOUGH = 10, 80


def fit_classes(coordinates: Array, known: Pairs, random_state: np.random.RandomState) -> NoisyPairClustering:
    """The model of classes of all known pairs; ``coordinates`` are the scaled rows of the basis."""
    if len(known) < FEWEST:
        raise ValueError(
            f'noise_rate="auto" needs at least {FEWEST} known pairs, which judge each other, got {len(known)}; give '
            "more pairs, or give noise_rate as a number"
        )
    if (known.labels < 0).all():
        raise ValueError(
            'all known pairs are negative (-1), so nothing tells noise_rate="auto" what pairs of one class look like; '
            "give some positive pairs, or give noise_rate as a number"
        )
    seed = int(random_state.randint(2**31))
    # Of a model of a sample, held-out probabilities are not those of a fit to other pairs only.
    model: Any = NoisyPairClustering("auto", metric="coordinates", sample_size=None, random_state=seed)
    return model.fit(coordinates, pairs=known)


def classes_predict_better(
    classes: NoisyPairClustering,
    known: Pairs,
    core_factor: Callable[[Pairs], Array],
    random_state: np.random.RandomState,
) -> bool:
    """Whether classes answer held-out pairs better than cores (``core_factor``) by more than one standard error."""
    if len(known) < ENOUGH:
        return False
    distinct, index = np.unique(pair_keys(known.rows, known.cols), return_inverse=True)
    fold = (random_state.permutation(len(distinct)) % FOLDS)[index]
    by_core = np.empty(len(known))
    for k in range(FOLDS):
        factor, asked = core_factor(known[fold != k]), known[fold == k]
        by_core[fold == k] = sample_product(factor, factor, asked.rows, asked.cols)
    given = known.labels > 0
    right = [((scores >= 0.5) == given).astype(np.float64) for scores in (classes.held_out_probabilities_, by_core)]
    votes = known.balanced().weights * (right[0] - right[1])
    return bool(votes.sum() > np.sqrt(votes @ votes))


def audit_by_classes(classes: NoisyPairClustering) -> PairAudit:
    """What the model of classes says of its pairs, as an audit: the same chances, noise and intervals."""
    known, noise, quality, words = classes.pairs_, classes.noise_, classes.pair_quality_, classes.diagnostic_
    assert known is not None  # the model was fitted to pairs
    assert noise is not None
    diagnostic = {
        "kind": "classes",
        "reliable": words["reliable"],
        "reason": f"The pairs speak of {classes.n_clusters_} classes. {words['pairs']} {words['features']}",
        "n_classes": [classes.n_clusters_],
    }
    names = ("prior", "precision_positive", "precision_negative")
    intervals = {name: classes.noise_intervals_[name] for name in names}
    suggested = np.where(quality >= 0.5, known.labels, -known.labels)
    return PairAudit(known, quality, suggested, noise, intervals, diagnostic)
