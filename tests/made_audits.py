"""Audits with given numbers, for tests of what is made of audits."""

import numpy as np

from kernelwise import LabelAudit, PairAudit, PairNoise, Pairs


def label_audit(rng, n=60, labels=("ham", "spam", "eggs")):
    classes = np.array(sorted(labels), dtype=object)
    probabilities = rng.dirichlet(np.ones(len(classes)), size=n)
    given = rng.integers(len(classes), size=n)
    return LabelAudit(
        labels=classes[given],
        quality=probabilities[np.arange(n), given],
        suggested=classes[probabilities.argmax(axis=1)],
        probabilities=probabilities,
        classes=classes,
        noise_rate=0.3,
        noise_interval=(0.2, 0.4),
        transition=np.eye(len(classes)),
    )


def pair_audit(rng, n=30, n_pairs=80):
    pairs = Pairs.from_labels(rng.integers(3, size=n), n_pairs=n_pairs, random_state=0)
    quality = rng.random(n_pairs)
    return PairAudit(pairs, quality, np.where(quality > 0.5, pairs.labels, -pairs.labels), PairNoise(0.4, 0.7, 0.9), {})
