"""Pairs of one kind only, such as links: the other kind is drawn at random."""

import numpy as np

from ..supervision import Pairs
from ..supervision.graph import count_pairs, key_pairs, pair_keys, sorted_distinct, unlinked_keys


def with_both_kinds(pairs: Pairs, rng: np.random.RandomState) -> Pairs:
    """The pairs; if all are of one kind, with as many pairs of the other kind drawn among the pairs not given.

    Random pairs are wrong as often as chance has it. The rates of the model allow for that: what tells the classes is
    that given pairs and random pairs differ.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import Pairs
    >>> links = Pairs([0, 1], [1, 2], [1, 1], n_samples=5)
    >>> with_both_kinds(links, np.random.RandomState(0))
    Pairs(n_samples=5, n_pairs=4, positive=2, negative=2)
    """
    if not len(pairs) or not (pairs.labels == pairs.labels[0]).all():
        return pairs
    given = sorted_distinct(pair_keys(pairs.rows, pairs.cols))
    count = min(len(given), count_pairs(pairs.n_samples) - len(given))
    if count == 0:
        return pairs
    rows, cols = key_pairs(unlinked_keys(given, pairs.n_samples, count, rng))
    return pairs + Pairs(rows, cols, np.full(count, -pairs.labels[0]), n_samples=pairs.n_samples)
