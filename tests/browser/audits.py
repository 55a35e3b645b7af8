"""Audits with a known order, to be reviewed in the browser."""

import numpy as np

from kernelwise import Answers, LabelAudit, PairAudit, PairNoise, Pairs, audit_answers


def make_labels(n, *, labels=("ham", "spam", "eggs"), seed=0):
    """An audit whose most suspect row is n - 1, then n - 2, and so on."""
    rng = np.random.default_rng(seed)
    classes = np.array(sorted(labels), dtype=object)
    given = rng.integers(len(classes), size=n)
    suggested = (given + rng.integers(1, len(classes), size=n)) % len(classes)
    quality = np.linspace(0.95, 0.05, n)
    probabilities = np.zeros((n, len(classes)))
    probabilities[np.arange(n), given] = quality
    probabilities[np.arange(n), suggested] = 1 - quality
    return LabelAudit(
        labels=classes[given],
        quality=quality,
        suggested=classes[suggested],
        probabilities=probabilities,
        classes=classes,
        noise_rate=0.3,
        noise_interval=(0.25, 0.35),
        transition=np.eye(len(classes)),
    )


def make_pairs(n=40, n_pairs=120, seed=0):
    rng = np.random.default_rng(seed)
    pairs = Pairs.from_labels(rng.integers(4, size=n), n_pairs=n_pairs, random_state=seed)
    quality = np.linspace(0.95, 0.05, n_pairs)
    return PairAudit(
        pairs, quality, np.where(quality > 0.5, 1, -1) * pairs.labels, PairNoise(0.3, 0.8, 0.9), {"prior": (0.2, 0.4)}
    )


def make_answers(n=120, labels=("ham", "spam"), names=("Ann", "Bob", "Cy"), seed=0):
    """Answers of three sources, the last of which is wrong in two of five rows and leaves out every third row."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    said = np.where(rng.random((n, 3)) < (0.1, 0.2, 0.4), 1 - truth[:, None], truth[:, None])
    table = np.array(labels, dtype=object)[said]
    table[::3, 2] = None
    return audit_answers(None, Answers.from_table(table, sources=names)), table
