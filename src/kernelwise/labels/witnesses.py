r"""How many witnesses some rows are: rows of a group share their errors, and copies of one record may share a label.

Rows that a user calls a group are one witness for the noise model, which counts labels. Each of them still is an
example of its own for the base models. Copies of one record show nothing new: they count as one row for both. A row of
a group is scored by models that saw no row of the group.

Copies are one witness if their label was copied with the record, and then their labels agree. If more than
:data:`SEPARATE` of the pairs of copies have different labels, copies were labelled one by one, and each of them is a
witness of its own. But even labels that are drawn at random do not differ much more often than two rows of the table
do. If nearly all copies have different labels, they are one witness again: that was done by one mistake. Where copies
are one witness, each label is evidence about them once,

.. math:: P(\text{true} \mid \text{row}) \propto P(\text{true} \mid s) \prod_l P(\text{label } l \mid \text{true}, s),

so that of equal rows with different labels one at most is probably right. The noise model speaks of shares of
witnesses; ranges are turned into shares of rows.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax

from ..noise.explanations import ExplainedNoise
from ..scoring.rows import Copies, find_copies, numbered
from ..tables.preparation import TableFeatures

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: If this share of the pairs of copies have different labels, copies were labelled one by one.
SEPARATE = 0.05
#: Up to this share of copies that do not contradict each other, the reason does not speak of them.
FEW_COPIES = 0.01
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
    are_copies : bool
        Whether the groups are copies.
    copies : dict
        What is said of copies, as in ``diagnostic_["copies"]``.
    """

    group: Index | None
    learning: Any
    counting: Any
    are_copies: bool
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
        if self.group is None or not self.are_copies:
            return found
        seen = np.zeros((int(self.group.max()) + 1, scores.shape[1]), dtype=bool)
        seen[self.group, given] = True
        rows = np.flatnonzero(seen.sum(axis=1)[self.group] > 1)
        belief = np.log(np.maximum(noise.true_probabilities(scores[rows]), LEAST))
        logs = belief.copy()
        for label in range(scores.shape[1]):
            one = np.log(np.maximum(noise.label_posterior(scores[rows], np.full(len(rows), label)), LEAST))
            logs += np.where(seen[self.group[rows], label][:, None], one - belief, 0.0)
        found[rows] = softmax(logs, axis=1)
        return found


def find_witnesses(Z: Any, given: Index, group: Index | None, features: TableFeatures | None) -> Witnesses:
    """Return the witnesses among rows; ``group`` are the groups of a user, beside which no others are looked for."""
    columns = None if features is None else _columns(features)
    if features is not None and not features.n_block_ and [kind for _, kind, _ in features.steps_] == ["text"]:
        columns = None  # words are no columns of a table
    found = find_copies(Z, columns, near=columns is None or not sp.issparse(Z))
    own = numbered(found.group if group is None else group)
    sizes = np.bincount(own)
    differ = _share_of_differing_pairs(numbered(found.group), given)
    at_random = 1.0 - float(np.sum((np.bincount(given) / len(given)) ** 2))
    one_by_one = SEPARATE < differ <= (1.0 + at_random) / 2
    one_label = group is None and not one_by_one
    copies = _said_of(found, given, one_label, differ if one_by_one else 0.0)
    if len(sizes) == len(own) or (group is None and not one_label):
        return Witnesses(None, 1.0, 1.0, False, copies)
    one_each = 1 / sizes[own]
    return Witnesses(own, one_each if group is None else 1.0, one_each, group is None, copies)


def _share_of_differing_pairs(group: Index, given: Index) -> float:
    """Return the share of the pairs in groups whose labels differ; a group counts as often as it has further rows."""
    sizes = np.bincount(group)
    _, place, same = np.unique(np.stack([group, given]), axis=1, return_inverse=True, return_counts=True)
    differ = (sizes[group] - same[place]) / sizes[group]
    return float(differ.sum() / max((sizes - 1).sum(), 1))


def _columns(features: TableFeatures) -> list[tuple[int, int]]:
    """Return where the features of each column begin and end."""
    return [(j, j + 1) for j in range(features.n_block_)] + [(low, high) for low, high in features.parts if low < high]


def _said_of(found: Copies, given: Index, one_label: bool, differ: float) -> dict[str, Any]:
    """Return the figures about copies, and a sentence; ``differ`` is 0 unless each copy was labelled by itself."""
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
        "one_witness": one_label,
    }
    parts = [f"{int(copies.sum())} rows equal another row"] if copies.any() else []
    parts += [f"{figures['near_copies']} rows are near copies of another row"] if found.near.any() else []
    said = f"{' and '.join(parts)}." if parts else ""
    if n_contradicting := int((copies & contradicting).sum()):
        said += (
            f" {n_contradicting} rows equal another row that has another label: at least {figures['certain_errors']} of"
            " their labels must be wrong, or the columns do not say enough to tell the rows apart."
        )
    if parts and one_label:
        said += " Copies count as one row, and no row vouches for its copies."
    elif parts and differ:
        said += f" Of the pairs of copies {differ:.0%} have different labels: so each copy was labelled by itself."
    return figures | {"sentence": said}


def conclude_copies(
    diagnostic: dict[str, Any], copies: dict[str, Any], interval: tuple[float, float]
) -> dict[str, Any]:
    """Return the diagnostic with what was found of copies; many of them make no range reliable, and give a warning."""
    said = diagnostic | {"copies": copies}
    if copies["share"] > FEW_COPIES or copies["certain_errors"]:
        said["reason"] = f"{diagnostic['reason']} {copies['sentence']}"
    if copies["share"] > MANY_COPIES and copies["one_witness"]:
        said["reliable"] = False
        warnings.warn(
            f"{copies['sentence']} If each of these rows was labelled by itself, say so by "
            "groups=numpy.arange(len(X)), or on the command line by --group with a column that differs in every row; "
            "otherwise keep one row of each record",
            stacklevel=5,
        )
    said["least_noise_rate"] = min(max(said["least_noise_rate"], interval[0]), said["largest_noise_rate"])
    return said
