"""LinkedClustering with default settings on large graphs: seconds, memory and agreement with the classes.

The graphs are made by a block model with unequal degrees: 10 classes, 10 links per document, of which some lead to
another class. The features are words (20 of 20,000 per document) or 50 columns of numbers.
"""

from functools import partial
from typing import Any

import numpy as np

from kernelwise import LinkedClustering, Pairs
from kernelwise.metrics import normalized_mutual_info

from .measure import Fresh, in_fresh_process, record
from .pairs_real import block_links, numbers, word_counts

TITLE = "Linked documents: growth to a million documents with ten million links"

N_CLASSES, N_WORDS, N_COLUMNS, LINKS_PER_DOCUMENT = 10, 20_000, 50, 10
#: The share of words of the class, the spread of the means of classes, and the share of links within a class.
ON_TOPIC, SPREAD, WITHIN_CLASS = 0.3, 0.3, 0.7
#: Degrees follow a Pareto law with this exponent.
TAIL = 2.5
SIZES = (20_000, 100_000, 1_000_000)
#: What a fit of the largest size may take.
MOST_SECONDS, MOST_GIGABYTES = 300, 8


def run() -> list[dict[str, Any]]:
    """Measure every size with words and with numbers, each in a process of its own."""
    rows = []
    for words in (True, False):
        for n in SIZES:
            fresh = in_fresh_process(fit, prepare=partial(documents, n, words=words))
            rows += describe(n, "words" if words else "numbers", fresh)
    return rows


def documents(n: int, *, words: bool, links_per_document: int = LINKS_PER_DOCUMENT) -> tuple[Any, Pairs, Any]:
    """Return features, links and classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, n)
    X = word_counts(rng, y, ON_TOPIC, n_words=N_WORDS) if words else numbers(rng, y, SPREAD, N_COLUMNS)
    return X, block_links(rng, y, WITHIN_CLASS, 0, 2 * links_per_document, TAIL), y


def fit(X: Any, pairs: Pairs, y: Any) -> dict[str, Any]:
    """Return the NMI with the classes and what was chosen."""
    model = LinkedClustering(N_CLASSES, random_state=0).fit(X, links=pairs)
    return {"nmi": normalized_mutual_info(y, model.labels_), "chosen": model.chosen_}


def describe(n: int, kind: str, fresh: Fresh) -> list[dict[str, Any]]:
    """Return the rows of one run."""
    case = f"{n:,} documents with {kind}, {LINKS_PER_DOCUMENT * n:,} links"
    largest = n == max(SIZES)
    return [
        record(f"{case}: NMI, {fresh.result['chosen']!r} was chosen", fresh.result["nmi"], "", at_least=0.5),
        record(f"{case}: time", fresh.seconds, "s", at_most=MOST_SECONDS if largest else None),
        record(f"{case}: peak memory", fresh.peak_bytes / 1e9, "GB", at_most=MOST_GIGABYTES if largest else None),
        record(f"{case}: of which beyond the data", fresh.extra_bytes / 1e9, "GB"),
    ]
