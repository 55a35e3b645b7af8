r"""What a few checked labels tell of the labels that nobody checked: the posterior, calibrated on the checked rows.

The noise model says :math:`P(\text{true} = k \mid s)` from the scores alone, the *belief*, and :math:`P(\text{true} = k
\mid s, \text{given})`, the *posterior*; the ratio of the two is the *evidence* of the given label. Which explanation of
the labels holds, how often each class is wrong and how far scores can be trusted is what the labels alone cannot tell
and checked rows can. With ``g`` the given label,

.. math:: P(\text{true} = k) \propto \exp\bigl( e^a \log \text{belief}_k + e^b \log \text{evidence}_k
          + (c + c_g) [k = g] + d_k \bigr),

where all of ``a, b, c, c_g, d_k`` are zero without checks: the model as it was. They have normal priors around zero
and are fitted to the labels that people found, so ten checks correct the share of wrong labels (``c``), and a hundred
checks correct much more. A checked row itself is certain.

Rows that were drawn at random tell how many labels are wrong. Rows that were *chosen* because they are suspect are
wrong more often or less often than the model says, for reasons of their own; they have a further ``f [k = g]``, which
no other row has. So they tell which labels are wrong, and the share of wrong labels is left to the drawn rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from ..supervision.draws import rows_stood_for
from ..supervision.verdicts import Verdicts

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Standard deviations of the priors: of ``a`` and ``b``, of ``c`` and ``f``, of each ``c_g`` and of each ``d_k``.
SLOPES, SHARED, GIVEN, TRUE = 0.2, 1.5, 0.5, 0.25
#: Probabilities are kept away from zero, so that no checked row is impossible.
LOWEST = 1e-9


@dataclass(frozen=True)
class Recalibration:
    """The fitted parameters: ``slopes`` exp(a) and exp(b), ``offsets`` c + c_g by given class, and ``classes`` d_k.

    Examples
    --------
    Two classes, a posterior that trusts every label, and ten checked rows of which four are wrong:

    >>> import numpy as np
    >>> from kernelwise.labels.checks import recalibrate
    >>> given = np.arange(100) % 2
    >>> belief = np.full((100, 2), 0.5)
    >>> posterior = np.where(np.eye(2)[given] == 1, 0.95, 0.05)
    >>> truth = np.where(np.arange(10) < 4, 1 - given[:10], given[:10])
    >>> found = recalibrate(belief, posterior, given, np.arange(10), truth).posterior(belief, posterior, given)
    >>> bool(0.2 < np.mean(1 - found[np.arange(100), given]) < 0.4)
    True
    """

    slopes: tuple[float, float]
    offsets: Array
    classes: Array

    def posterior(self, belief: Array, posterior: Array, given: Index) -> Array:
        """Return P(true | row), where ``given`` is the position of the given class."""
        logits = self.slopes[0] * _log(belief) + self.slopes[1] * (_log(posterior) - _log(belief)) + self.classes
        logits[np.arange(len(given)), given] += self.offsets[given]
        return softmax(logits, axis=1)

    def true_probabilities(self, belief: Array) -> Array:
        """Return P(true | row) for rows whose label was not seen."""
        return softmax(self.slopes[0] * _log(belief) + self.classes, axis=1)


def recalibrate(
    belief: Array,
    posterior: Array,
    given: Index,
    rows: Index,
    truth: Index,
    weight: Array | None = None,
    chosen: NDArray[np.bool_] | None = None,
) -> Recalibration:
    """Fit the parameters to the true classes of some rows.

    Parameters
    ----------
    belief, posterior : arrays of shape (n_rows, n_classes)
    given : array of shape (n_rows,)
        Given classes, as positions of columns.
    rows, truth : arrays of shape (n_checked,)
        The checked rows, and their true classes.
    weight : array of shape (n_checked,), optional
        How much each checked row counts.
    chosen : array of bool of shape (n_checked,), optional
        Which rows were chosen, while others were drawn at random.
    """
    n_classes = belief.shape[1]
    counts = np.ones((len(rows), 1)) if weight is None else weight[:, None]
    apart = np.zeros(len(rows)) if chosen is None else chosen.astype(np.float64)
    prior, evidence = _log(belief[rows]), _log(posterior[rows]) - _log(belief[rows])
    own, true = np.eye(n_classes)[given[rows]], np.eye(n_classes)[truth]
    spread = np.concatenate([[SLOPES, SLOPES, SHARED, SHARED], np.full(n_classes, GIVEN), np.full(n_classes, TRUE)])
    by_given, by_true = slice(4, 4 + n_classes), slice(4 + n_classes, None)

    def loss(z: Array) -> tuple[float, Array]:
        offset = z[2] + z[3] * apart + z[by_given][given[rows]]
        scaled = np.exp(z[0]) * prior, np.exp(z[1]) * evidence
        logits = scaled[0] + scaled[1] + offset[:, None] * own + z[by_true]
        logs = log_softmax(logits, axis=1)
        excess = counts * (np.exp(logs) - true)
        kept = np.sum(excess * own, axis=1)
        shared = [np.sum(excess * scaled[0]), np.sum(excess * scaled[1]), kept.sum(), kept @ apart]
        slope = np.concatenate([shared, kept @ own, excess.sum(axis=0)])
        return float(-np.sum(counts * logs * true) + 0.5 * np.sum((z / spread) ** 2)), slope + z / spread**2

    z = minimize(loss, np.zeros(len(spread)), jac=True, method="L-BFGS-B").x
    return Recalibration((float(np.exp(z[0])), float(np.exp(z[1]))), z[2] + z[by_given], z[by_true])


def calibrated(
    belief: Array, posterior: Array, given: Index, truth: Index, weight: Array, bounds: tuple[float, float] | None
) -> tuple[Array, Recalibration | None]:
    """Return the posterior, calibrated on the checked rows and certain for them, and how it was calibrated.

    Parameters
    ----------
    belief, posterior, given
        As in :func:`recalibrate`.
    truth : array of shape (n_rows,)
        True classes of the checked rows, and -1 for the other rows.
    weight : array of shape (n_rows,)
        From :func:`weights`.
    bounds : pair of float or None
        The guaranteed bounds for the share of wrong labels. Drawn rows need no weights if strata follow the model,
        since the model knows where it looks closely. But if the calibrated share is out of bounds, each drawn row
        counts as much as the rows it stands for, and chosen rows do not count.
    """
    rows = np.flatnonzero(truth >= 0)
    if not len(rows):
        return posterior, None
    for counts in (np.ones(len(rows)), weight[rows]):
        how = recalibrate(belief, posterior, given, rows, truth[rows], counts, weight[rows] == 0)
        found = how.posterior(belief, posterior, given)
        found[rows] = np.eye(belief.shape[1])[truth[rows]]
        if bounds is None or bounds[0] <= np.mean(1 - found[np.arange(len(given)), given]) <= bounds[1]:
            break
    return found, how


def found_labels(checked: Verdicts | None, y: NDArray[Any]) -> dict[int, Any]:
    """Return the true labels of the rows about which people could tell; refuse verdicts that do not fit.

    >>> found_labels(Verdicts([0, 2], ["ham", None]), np.array(["ham", "ham", "spam"]))
    {0: 'ham'}
    """
    if checked is None:
        return {}
    if not isinstance(checked, Verdicts):
        raise TypeError(f"checked must be a kernelwise.Verdicts, got {type(checked).__name__}")
    checked.check_rows(len(y))
    found = {row: label for row, label in checked.found().items() if label is not None}
    are_text = y.dtype.kind in "USO" and any(isinstance(label, str) for label in y[:1].tolist())
    for row, label in found.items():
        if isinstance(label, str) != are_text:
            kind = "text" if are_text else "numbers"
            raise ValueError(
                f"checked says {label!r} for row {row}, but the labels are {kind}; give labels of the same kind"
            )
    return found


def weights(checked: Verdicts | None, n_rows: int) -> Array:
    """Return how much each row counts in the calibration, if it was checked.

    A drawn row stands for the rows that it was drawn from, so a plan that looks closely at suspects does not make all
    rows look suspect. A chosen row stands for no other row and has the weight zero. The drawn rows together count as
    many rows as they are; if no row was drawn, each counts one.

    >>> weights(Verdicts([0, 1, 2], ["a", "a", "a"], chance=[0.1, 0.3, 1.0]), 4).round(2).tolist()
    [1.54, 0.46, 0.0, 0.0]
    """
    stands_for = {} if checked is None else rows_stood_for(checked)
    if not stands_for:
        return np.ones(n_rows)
    unit = sum(stands_for.values()) / len(stands_for)
    counts = np.zeros(n_rows)
    counts[list(stands_for)] = np.array(list(stands_for.values())) / unit
    return counts


def _log(probabilities: Any) -> Array:
    return np.log(np.maximum(probabilities, LOWEST))
