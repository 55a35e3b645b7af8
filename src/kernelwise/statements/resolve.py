"""One rule for all estimators that learn from pairs: use given pairs, otherwise make pairs from labels."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from .graph import count_pairs, known_codes
from .noise import RandomState
from .pairs import Pairs

#: At most this many pairs per sample are made from labels: n labels have n (n - 1) / 2 pairs, most of them redundant.
PAIRS_PER_SAMPLE = 20


def resolve_pairs(
    pairs: Pairs | None,
    y: ArrayLike | None,
    n_samples: int,
    *,
    random_state: RandomState,
    required: bool = True,
    both_kinds: bool = True,
    balance: bool = False,
) -> Pairs | None:
    """The pairs to learn from; if there are none, an error if pairs are ``required`` and None otherwise.

    Given ``pairs`` are checked and returned, and ``y`` is ignored. Otherwise up to 20 pairs per sample are drawn from
    the labels ``y``, where -1 means unknown. With ``both_kinds``, required pairs must be positive and negative. With
    ``balance``, positive and negative pairs that are drawn from labels get the same total weight.
    """
    if pairs is not None:
        _check_samples(pairs, n_samples)
    elif y is not None:
        pairs = _draw_pairs(column_or_1d(y, warn=True), n_samples, random_state)
        pairs = pairs.balanced() if balance and pairs is not None else pairs
    if pairs is None or not len(pairs):
        if required:
            raise ValueError(
                "this estimator requires y to be passed, but the target y is None and there are no pairs either"
                if y is None
                else "there is no pair to learn from: fewer than two labels in y are known"
            )
        return None
    if required and both_kinds:
        check_both_kinds(int(np.count_nonzero(pairs.labels > 0)), len(pairs))
    return pairs


def _draw_pairs(y: ArrayLike, n_samples: int, random_state: RandomState) -> Pairs | None:
    codes = known_codes(y)
    if len(codes) != n_samples:
        raise ValueError(f"y has {len(codes)} labels for {n_samples} samples in X")
    total = count_pairs(int(np.count_nonzero(codes >= 0)))
    n_pairs = min(total, PAIRS_PER_SAMPLE * n_samples)
    return Pairs.from_labels(codes, n_pairs=n_pairs, random_state=random_state) if total else None


def _check_samples(pairs: Pairs, n_samples: int) -> None:
    if not isinstance(pairs, Pairs):
        raise TypeError(
            f"pairs must be a kernelwise.Pairs, got {type(pairs).__name__}; make one with"
            " Pairs(rows, cols, labels, n_samples=...), Pairs.from_graph or Pairs.from_labels"
        )
    if pairs.n_samples != n_samples:
        raise ValueError(
            f"pairs are over n_samples={pairs.n_samples} samples, but X has {n_samples}; for a subset of the samples"
            " pass pairs.restrict(index)"
        )


def check_both_kinds(n_positive: int, n_pairs: int) -> None:
    """Raise a ValueError unless there are positive as well as negative pairs.

    >>> check_both_kinds(3, 3)
    Traceback (most recent call last):
        ...
    ValueError: there is no negative (-1) pair among the 3 pairs, and both kinds are needed; ...
    """
    counts = {"positive (+1)": n_positive, "negative (-1)": n_pairs - n_positive}
    missing = [name for name, count in counts.items() if not count]
    if missing:
        raise ValueError(
            f"there is no {missing[0]} pair among the {n_pairs} pairs, and both kinds are needed; labels of one"
            " class, or all different, yield only one kind of pair"
        )
