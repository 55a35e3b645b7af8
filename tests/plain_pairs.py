"""Pairs in the types of Python, to compare with."""


def triples(pairs):
    """The pairs as Python sees them: unordered ends, label, weight."""
    columns = (pairs.rows, pairs.cols, pairs.labels, pairs.weights)
    return [
        (frozenset((i, j)), label, weight) for i, j, label, weight in zip(*(c.tolist() for c in columns), strict=True)
    ]
