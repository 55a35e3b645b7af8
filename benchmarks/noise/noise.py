"""One cell of the study: a split, its noisy training labels, and the truth that no method sees.

The split depends on the set and the seed; the noise on the set, the seed and the kind of noise. All methods therefore
meet the same rows and the same wrong labels, and ``Cell.fingerprint`` in every record proves it.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from .datasets import load

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

# In the order in which they are run: the first three already tell most of the story.
NOISES = ("sym30", "sym00", "class", "instance", "sym10", "sym20", "sym40")
# Noise that follows the features and that no model of noise here has in its family; run only when it is asked for.
STRANGE_NOISES = ("rule", "lookalike", "region", "version", "copied")
TEST_SHARE = 0.3
MAX_TRAIN = 700


@dataclass(frozen=True)
class Cell:
    """Training rows with given labels, test rows, and the truth for both."""

    name: str
    noise: str
    seed: int
    X_train: Floats
    y_given: Labels
    y_true: Labels
    X_test: Floats
    y_test: Labels

    @property
    def flipped(self) -> NDArray[np.bool_]:
        """Which given labels are wrong."""
        return self.y_given != self.y_true

    @property
    def fingerprint(self) -> str:
        """A digest of what a method sees."""
        seen = (self.X_train, self.y_given, self.X_test)
        return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in seen)).hexdigest()[:12]


def make_cell(name: str, noise: str, seed: int) -> Cell:
    """Split a set and make the training labels noisy."""
    X_train, y_true, X_test, y_test = split(name, seed)
    rng = generator(name, noise, seed)
    y_given = noisy_labels(noise, X_train, y_true, seed, rng)
    return Cell(name, noise, seed, X_train, y_given, y_true, X_test, y_test)


@lru_cache(maxsize=4)
def split(name: str, seed: int) -> tuple[Floats, Labels, Floats, Labels]:
    """70 % of the rows, at most 700, for training; 30 % for the test; both with the class shares of the set."""
    X, y = load(name)
    state = int(generator(name, "split", seed).integers(2**31))
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=TEST_SHARE, stratify=y, random_state=state)
    if len(y_train) > MAX_TRAIN:
        X_train, _, y_train, _ = train_test_split(
            X_train, y_train, train_size=MAX_TRAIN, stratify=y_train, random_state=state
        )
    for array in (X_train, y_train, X_test, y_test):
        array.flags.writeable = False
    return X_train, y_train, X_test, y_test


def generator(*key: object) -> np.random.Generator:
    """Random numbers that depend on the key only."""
    digest = hashlib.sha256("/".join(map(str, key)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


def noisy_labels(noise: str, X: Floats, y: Labels, seed: int, rng: np.random.Generator) -> Labels:
    """The labels after the noise of this name."""
    n_classes = int(y.max()) + 1
    if noise.startswith("sym"):
        rate = int(noise.removeprefix("sym")) / 100
        return drawn(symmetric(n_classes, rate)[y], rng)
    if noise == "class":
        return drawn(class_dependent(n_classes, rng)[y], rng)
    if noise == "instance":
        return near_boundary(reference_probabilities(X, y, seed), y, rng)
    if noise in STRANGE:
        return STRANGE[noise](X, y, rng)
    raise ValueError(f"noise must be one of {', '.join((*NOISES, *STRANGE_NOISES))}, got {noise!r}")


def drawn(probabilities: Floats, rng: np.random.Generator) -> Labels:
    """One label per row of probabilities."""
    thresholds = rng.random((len(probabilities), 1))
    above = np.cumsum(probabilities, axis=1) < thresholds
    return np.minimum(above.sum(axis=1), probabilities.shape[1] - 1).astype(np.int64)


def symmetric(n_classes: int, rate: float) -> Floats:
    """Every other class is equally likely: T = (1 - rate) I + rate / (k - 1) (1 1^T - I)."""
    T = np.full((n_classes, n_classes), rate / (n_classes - 1))
    np.fill_diagonal(T, 1 - rate)
    return T


def class_dependent(n_classes: int, rng: np.random.Generator) -> Floats:
    """Two classes: rates .1 and .4, who has which by lot. More: rates in [.1, .4], random destinations."""
    if n_classes == 2:
        low_first = np.array([[0.9, 0.1], [0.4, 0.6]])
        return low_first if rng.random() < 0.5 else low_first[::-1, ::-1]
    T = np.zeros((n_classes, n_classes))
    for true, rate in enumerate(rng.uniform(0.1, 0.4, n_classes)):
        T[true, np.arange(n_classes) != true] = rate * rng.dirichlet(np.ones(n_classes - 1))
        T[true, true] = 1 - rate
    return T


def near_boundary(belief: Floats, y: Labels, rng: np.random.Generator) -> Labels:
    """Flip with probability (1 - u) / 2, u in (0, 1) the rank of the distance from the boundary; mean rate .25.

    The distance is the gap between the two most probable classes by ``belief``; the label becomes the most probable
    other class. No label is more likely wrong than right, so the best classifier stays what it was.
    """
    ordered = np.sort(belief, axis=1)
    gap = ordered[:, -1] - ordered[:, -2]
    rank = np.argsort(np.lexsort((rng.random(len(y)), gap)))  # ties in random order
    flip = rng.random(len(y)) < (1 - (rank + 0.5) / len(y)) / 2
    others = belief.copy()
    others[np.arange(len(y)), y] = -1
    return np.where(flip, others.argmax(axis=1), y)


def reference_probabilities(X: Floats, y: Labels, seed: int) -> Floats:
    """Out-of-fold class probabilities from clean labels: the mean of a linear, a kernel and a tree model.

    Three families, so that the noise favours the boundary of none of them.
    """
    models = (
        make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=500)),
        make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(C=3.0), ensemble=False, cv=3)),
        RandomForestClassifier(60, random_state=seed),
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return np.mean([cross_val_predict(model, X, y, cv=folds, method="predict_proba") for model in models], axis=0)


def by_wrong_rule(X: Floats, y: Labels, rng: np.random.Generator, rate: float = 0.2) -> Labels:
    """Above a threshold of one feature every label becomes one class.

    The feature is the column of numbers that differs most between the classes, and classes are tried in random order
    until a threshold makes about ``rate`` of the labels wrong. If none does, the next feature is tried, indicators
    last; if no feature does, the nearest counts. Five rows of every class (or all, if it has fewer) keep their class.
    """
    counts, Z = np.bincount(y), standardised(X)
    between = sum(count / len(y) * Z[y == label].mean(axis=0) ** 2 for label, count in enumerate(counts))
    indicator = [len(np.unique(column)) <= 2 for column in X.T]
    nearest, found = np.inf, y
    for feature, label in product(X.T[np.lexsort((-between, indicator))], rng.permutation(len(counts))):
        for threshold in np.unique(feature)[:-1]:
            given = np.where(feature > threshold, label, y)
            gap = abs(float(np.mean(given != y)) - rate)
            if gap < nearest and np.all(np.bincount(given, minlength=len(counts)) >= np.minimum(counts, 5)):
                nearest, found = gap, given
        if nearest < 0.05:
            break
    return found.astype(np.int64)


def between_lookalikes(X: Floats, y: Labels, rng: np.random.Generator, rate: float = 0.3) -> Labels:
    """Only the two classes whose centroids are nearest exchange labels; two classes alone have symmetric noise."""
    distances = centroid_distances(standardised(X), y)
    one, other = np.unravel_index(distances.argmin(), distances.shape)
    flip = np.isin(y, (one, other)) & (rng.random(len(y)) < rate)
    return np.where(flip, one + other - y, y).astype(np.int64)


def in_one_region(
    X: Floats, y: Labels, rng: np.random.Generator, share: float = 0.25, inside: float = 0.6, outside: float = 0.02
) -> Labels:
    """Labels of the rows nearest to a random row are mostly wrong, and each class is taken for one other class there.

    Inside, a label is more likely wrong than right. Outside, few labels are wrong, and their classes are drawn.
    """
    n_classes = int(y.max()) + 1
    Z = standardised(X)
    distance = euclidean_distances(Z, Z[[rng.integers(len(y))]])[:, 0]
    near = np.argsort(np.argsort(distance, kind="stable")) < share * len(y)
    shift = np.where(near, rng.integers(1, n_classes), rng.integers(1, n_classes, len(y)))
    flip = rng.random(len(y)) < np.where(near, inside, outside)
    return np.where(flip, (y + shift) % n_classes, y).astype(np.int64)


def of_earlier_version(X: Floats, y: Labels, rng: np.random.Generator, rate: float = 0.8) -> Labels:
    """Half of one class, along its first principal component, mostly has the label of the nearest other class.

    The class is that of a random row, and a lot decides which half.
    """
    Z = standardised(X)
    label = int(y[rng.integers(len(y))])
    members = np.flatnonzero(y == label)
    centred = Z[members] - Z[members].mean(axis=0)
    axis = np.linalg.svd(centred, full_matrices=False)[2][0]
    axis *= np.sign(axis[np.abs(axis).argmax()]) * (1 if rng.random() < 0.5 else -1)
    half = members[np.argsort(-(centred @ axis), kind="stable")[: len(members) // 2]]
    others = np.array([k for k in np.unique(y) if k != label])
    centroids = np.array([Z[y == k].mean(axis=0) for k in others])
    nearest = others[euclidean_distances(Z[half].mean(axis=0)[None], centroids)[0].argmin()]
    given = y.astype(np.int64)
    given[half[rng.random(len(half)) < rate]] = nearest
    return given


def copied(X: Floats, y: Labels, rng: np.random.Generator, size: int = 8, share: float = 0.2) -> Labels:
    """In some of many small clusters all rows share one label, of the class that is rarest in the cluster."""
    n_classes, n_clusters = int(y.max()) + 1, max(len(y) // size, 2)
    means = KMeans(n_clusters, n_init=1, random_state=int(rng.integers(2**31)))
    cluster = means.fit_predict(standardised(X))
    given = y.astype(np.int64)
    for number in rng.permutation(n_clusters)[: round(share * n_clusters)]:
        counts = np.bincount(y[cluster == number], minlength=n_classes)
        given[cluster == number] = rng.choice(np.flatnonzero(counts == counts.min()))
    return given


def standardised(X: Floats) -> Floats:
    """Zero mean and unit variance."""
    return StandardScaler().fit_transform(X)


def centroid_distances(Z: Floats, y: Labels) -> Floats:
    """Distances between the means of the classes; a class is infinitely far from itself."""
    distances = euclidean_distances([Z[y == k].mean(axis=0) for k in range(int(y.max()) + 1)])
    np.fill_diagonal(distances, np.inf)
    return distances


STRANGE: dict[str, Callable[[Floats, Labels, np.random.Generator], Labels]] = {
    "rule": by_wrong_rule,
    "lookalike": between_lookalikes,
    "region": in_one_region,
    "version": of_earlier_version,
    "copied": copied,
}
