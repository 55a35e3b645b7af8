r"""How many witnesses some rows are: rows of a group share their errors, and copies of one record may share a label.

Rows that a user calls a group are one witness for the noise model, which counts labels. Each of them still is an
example of its own for the base models. Copies are neither: m copies count as :math:`1 + \omega (m - 1)` rows, where
:math:`\omega` is 0 if one label was copied with the record, and 1 if each copy was labelled by itself. Copied labels
never disagree. So with p the share of pairs of copies whose labels differ,

.. math:: \omega = p^2 / (p^2 + \text{SEPARATE}^2).

In any case a row is scored by models that saw none of its copies; what the labels of its copies say is added,

.. math:: P(\text{true} \mid \text{row}) \propto P(\text{true} \mid s)
          \prod_l P(\text{label } l \mid \text{true}, s)^{1 + \omega (m_l - 1)},

with :math:`m_l` the number of copies that have the label l. So of equal rows with different labels one at most is
probably right. The noise model speaks of shares of witnesses; ranges are turned into shares of rows.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..noise.explanations import ExplainedNoise
from ..scoring.copies import Copies, find_copies
from ..scoring.groups import numbered
from ..tables.preparation import TableFeatures

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: If this share of the pairs of copies have different labels, a copy counts as half a row.
SEPARATE = 0.05
#: Beyond this share of copies of one label among the rows there is a warning, and no range is called reliable.
MANY_COPIES = 0.05
#: Chances are kept away from zero where evidence is multiplied.
LEAST = 1e-12
TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Witnesses:
    """Which rows are one witness.

    Parameters
    ----------
    group : ndarray of int or None
        The group of each row, numbered from 0; None if every row is a witness of its own.
    learning, counting : float or ndarray
        How much a row counts as an example for the base models, and as a label for the noise model.
    separate : float or None
        How far copies were labelled by themselves, between 0 and 1; None if the groups are a user's.
    copies : dict
        What is said of copies, as in ``diagnostic_["copies"]``.
    """

    group: Index | None
    learning: Any
    counting: Any
    separate: float | None
    copies: dict[str, Any]

    def of_rows(self, noise: ExplainedNoise, scores: Array, given: Index, weight: Array) -> ExplainedNoise:
        """Return the noise with ranges of shares of rows, which have these weights, instead of shares of witnesses."""
        if self.group is None:
            return noise
        ratios = []
        for found in noise.label_posteriors(scores, given):
            wrong, counts = 1 - found[np.arange(len(given)), given], weight * self.counting
            size, share = np.bincount(self.group, weight), np.bincount(self.group, weight * wrong)
            chance, one_each = share / np.maximum(size, TINY), np.bincount(self.group, counts)
            variances = [chance * (1 - chance) @ (one / one.sum()) ** 2 for one in (size, one_each)]
            among = max(float(counts @ wrong) / counts.sum(), TINY)
            ratios.append((float(share.sum() / size.sum() / among), max(variances[0] - variances[1], 0.0) ** 0.5))
        return replace(noise, of_rows=(ratios[0], ratios[1]))

    def posterior(self, noise: ExplainedNoise, scores: Array, given: Index) -> Array:
        """Return P(true | row) for the given labels, those of copies among them."""
        found = noise.label_posterior(scores, given)
        if self.separate is None or self.group is None:
            return found
        counts = np.zeros((int(self.group.max()) + 1, scores.shape[1]))
        np.add.at(counts, (self.group, given), 1.0)
        rows = np.flatnonzero(counts.sum(axis=1)[self.group] > 1)
        belief = np.log(np.maximum(noise.true_probabilities(scores[rows]), LEAST))
        logs = belief.copy()
        for label in range(scores.shape[1]):
            one = noise.label_posterior(scores[rows], np.full(len(rows), label))
            seen = counts[self.group[rows], label]
            times = np.where(seen > 0, 1 + self.separate * (seen - 1), 0.0)
            logs += times[:, None] * (np.log(np.maximum(one, LEAST)) - belief)
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        found[rows] = chances / chances.sum(axis=1, keepdims=True)
        return found


def find_witnesses(Z: Any, given: Index, group: Index | None, features: TableFeatures | None) -> Witnesses:
    """Return the witnesses among rows; ``group`` are the groups of a user, beside which no others are looked for."""
    kinds = set() if features is None else {kind for _, kind, _ in features.steps_}
    mixed = sp.issparse(Z) and features is not None and (kinds != {"text"} or features.n_block_ > 0)
    found = find_copies(Z, None if features is None else _columns(features), near=not mixed)
    own = numbered(found.group if group is None else group)
    sizes = np.bincount(own)
    separate = None if group is not None else _separate(own, given)
    copies = _said_of(found, given, separate)
    if separate is None:
        return Witnesses(own, 1.0, 1 / sizes[own], None, copies)
    if len(sizes) == len(own):
        return Witnesses(None, 1.0, 1.0, separate, copies)
    share = (1 + separate * (sizes - 1))[own] / sizes[own]
    return Witnesses(own, share, share, separate, copies)


def _separate(group: Index, given: Index) -> float:
    """Return how far the labels of each group were given separately, from 0 to 1."""
    sizes = np.bincount(group)
    _, same = np.unique(np.stack([group, given]), axis=1, return_counts=True)
    others = float((sizes - 1).sum())
    _, place = np.unique(np.stack([group, given]), axis=1, return_inverse=True)
    alike = (same[place] - 1) / np.maximum(sizes[group] - 1, 1)  # the share of a row's copies that have its label
    differ = float(np.sum((1 - alike) * (1 - 1 / sizes[group]) * (sizes[group] > 1))) / max(others, 1.0)
    return differ**2 / (differ**2 + SEPARATE**2)


def _columns(features: TableFeatures) -> list[tuple[int, int]]:
    """Return where the features of each column begin and end."""
    return [(j, j + 1) for j in range(features.n_block_)] + [(low, high) for low, high in features.parts if low < high]


def _said_of(found: Copies, given: Index, separate: float | None) -> dict[str, Any]:
    """Return the figures about copies, and a sentence about them."""
    counts = np.zeros((int(found.alike.max(initial=-1)) + 1, int(given.max(initial=-1)) + 1), dtype=np.intp)
    np.add.at(counts, (found.alike, given), 1)
    contradicting = ((counts > 0).sum(axis=1) > 1)[found.alike]
    copies = found.equal & ~found.by_chance
    certain = (counts.sum(axis=1) - counts.max(axis=1, initial=0))[np.unique(found.alike[copies])]
    figures = {
        "equal_rows": int(found.equal.sum()),
        "equal_by_chance": int(found.by_chance.sum()),
        "contradicting_rows": int((found.equal & contradicting).sum()),
        "certain_errors": int(certain.sum()),
        "near_copies": int(found.near.sum()),
        "share": float(np.mean(copies | found.near)),
        "separate": separate,
    }
    parts = [f"{int(copies.sum())} rows equal another row"] if copies.any() else []
    parts += [f"{figures['near_copies']} rows are near copies of another row"] if found.near.any() else []
    said = f"{' and '.join(parts)}." if parts else ""
    if n_contradicting := int((copies & contradicting).sum()):
        said += (
            f" {n_contradicting} rows equal another row that has another label: at least {figures['certain_errors']} of"
            " these labels are wrong, or the columns do not say enough to tell the rows apart."
        )
    if parts and separate is not None:
        said += " No row vouches for its copies" + (
            ", and labels of copies count one by one, since they differ." if separate > 0.5 else "."
        )
    return figures | {"sentence": said}


def conclude_copies(
    diagnostic: dict[str, Any], copies: dict[str, Any], interval: tuple[float, float]
) -> dict[str, Any]:
    """Return the diagnostic with what was found of copies; many of them make no range reliable, and give a warning."""
    said = diagnostic | {"copies": copies}
    if copies["sentence"]:
        said["reason"] = f"{diagnostic['reason']} {copies['sentence']}"
    if copies["share"] > MANY_COPIES and copies["separate"] is not None and copies["separate"] <= 0.5:
        said["reliable"] = False
        warnings.warn(
            f"{copies['sentence']} If each of these rows was labelled by itself, say so by "
            "groups=numpy.arange(len(X)); otherwise keep one row of each record",
            stacklevel=5,
        )
    said["least_noise_rate"] = min(max(said["least_noise_rate"], interval[0]), said["largest_noise_rate"])
    return said
