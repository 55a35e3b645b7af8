r"""Do pairs speak of entities, each with a few records, or of a few classes or links?

Nobody asks people about random pairs of records: nearly all of them differ. Candidates for "the same?" are pairs that
look alike (blocking), so the pairs given as *different* are far more alike than random pairs. Let

    A = P(a pair given as different is more alike than a random pair of the same records),

ties counting one half. Where pairs are drawn at random, whether from classes or as non-links of a graph, A is at most
one half for right answers. If a share f of the answers is wrong, pairs that are the same are among them, and even if
these were more alike than all random pairs, :math:`A \le f + (1 - f) / 2 < 3/4` for every :math:`f < 1/2`. So a value
above 3/4 shows that candidates were chosen by likeness, at any noise that leaves most answers right.

Pairs of similar samples of a few classes have similar negatives too. But similar samples mostly share a class, and the
pairs that are said to be the same join many samples, while entities are small and most candidates are no matches.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.stats import rankdata
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler, normalize

from ..samples import largest_magnitude, power_of_two
from ..statements import Pairs
from ..tables.columns import Table
from .features import CUT, read_records, row_products
from .strings import tidy_string

#: The bound of A for pairs that are drawn at random.
DRAWN_BY_LIKENESS = 0.75
#: Fewer pairs given as different do not tell how they were chosen; more than ENOUGH need not be compared.
FEWEST, ENOUGH = 20, 20_000
#: Matches are a minority of the candidates, and no entity has more than this share of the records that have a match.
MOST_MATCHES, LARGEST_ENTITY = 0.5, 0.25
ADVICE = 'If they are pairs of records all the same, call audit_record_pairs, or audit_pairs with kind="records".'


def looks_like_records(pairs: Pairs, X: Any) -> tuple[bool, str]:
    """Return whether pairs ask "are these two records the same?", and why; not without records (X None)."""
    different = pairs.negative
    if X is None or len(different) < FEWEST or not len(pairs.positive):
        lacking = "there are no features" if X is None else f"{len(different)} of the pairs are given as different"
        return False, f"Nothing tells that these are pairs of records, because {lacking}. {ADVICE}"
    vectors = _unit_vectors(X)
    alike = _alike(vectors, different)
    if alike <= DRAWN_BY_LIKENESS + np.sqrt(1 / (6 * min(len(different), ENOUGH))):  # one standard error of A
        return False, (
            "The pairs speak of classes or links: a pair that is given as different is more alike than a random pair "
            f"in {alike:.0%} of all cases, so the pairs were not chosen because their records look alike. {ADVICE}"
        )
    matches = float(np.mean(pairs.labels > 0))
    largest = _largest_entity(vectors, pairs.positive)
    if matches > MOST_MATCHES or largest > LARGEST_ENTITY:
        return False, (
            "The pairs were chosen because the samples look alike, but they speak of large classes: "
            f"{matches:.0%} of the pairs are given as the same, and the more similar half of them joins {largest:.0%} "
            f"of its samples to one class. {ADVICE}"
        )
    return True, (
        f"The pairs are candidates for duplicates: a pair that is given as different is more alike than a random pair "
        f"in {alike:.0%} of all cases, {matches:.0%} of the pairs are given as the same, and the largest group of "
        f"records that they join has {largest:.1%} of the records."
    )


def _unit_vectors(X: Any) -> Any:
    """Return unit rows whose inner products say how alike two records are: trigrams, words or deviations."""
    known = read_records(X)
    if isinstance(known, Table) and known.columns:
        columns = [column.labels() for column in known.columns.values()]
        whole = [tidy_string(" ".join(cells)) or "?" for cells in zip(*columns, strict=True)]
        return TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3)).fit_transform(whole)
    matrix = known.block if isinstance(known, Table) else known
    matrix = matrix / power_of_two(largest_magnitude(matrix))
    return normalize(matrix if sp.issparse(matrix) else np.clip(StandardScaler().fit_transform(matrix), -CUT, CUT))


def _alike(vectors: Any, different: Pairs) -> float:
    """Return A; a random pair joins the first record of one pair to the second record of another pair."""
    rng = np.random.RandomState(0)
    some = different[np.sort(rng.permutation(len(different))[:ENOUGH])]
    others = rng.permutation(some.cols)
    apart = others != some.rows
    own = row_products(vectors, some.rows, some.cols)
    random = row_products(vectors, some.rows[apart], others[apart])
    if not len(random):
        return 0.5
    ranks = rankdata(np.concatenate([own, random]))[: len(own)]
    return float((ranks.sum() - len(own) * (len(own) + 1) / 2) / (len(own) * len(random)))


def _largest_entity(vectors: Any, matches: Pairs) -> float:
    """Return the share of the largest group that the more similar half of the matches joins; others may be wrong."""
    similarity = row_products(vectors, matches.rows, matches.cols)
    likely = matches[similarity >= np.median(similarity)]
    _, group = connected_components(likely.to_sparse(), directed=False)
    return float(np.bincount(group).max() / len(np.union1d(likely.rows, likely.cols)))
