r"""What a few checked labels tell of the labels that nobody checked: the posterior, calibrated on the checked rows.

The noise model says :math:`P(\text{true} = k \mid s)` from the scores alone, the *belief*, and
:math:`P(\text{true} = k \mid s, \text{given})`, the *posterior*; the ratio of the two is the *evidence* of the given
label. Which explanation of the labels holds, how often each class is wrong and how far scores can be trusted is what the
labels alone cannot tell and checked rows can. With ``g`` the given label,

.. math:: P(\text{true} = k) \propto \exp\bigl( (1 + a) \log \text{belief}_k + (1 + b) \log \text{evidence}_k
          + (c + c_g) [k = g] + d_k \bigr),

where all of ``a, b, c, c_g, d_k`` are zero without checks: the model as it was. They have normal priors around zero
and are fitted to the labels that people found, so ten checks correct the share of wrong labels (``c``), and a hundred
checks correct much more. A checked row itself is certain.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Standard deviations of the priors: of ``a`` and ``b``, of ``c``, of each ``c_g`` and of each ``d_k``.
SLOPES, SHARED, GIVEN, TRUE = 0.5, 1.5, 0.5, 0.25
#: Probabilities are kept away from zero, so that no checked row is impossible.
LOWEST = 1e-9


@dataclass(frozen=True)
class Recalibration:
    """The fitted parameters: ``slopes`` 1 + a and 1 + b, ``offsets`` c + c_g by given class, and ``classes`` d_k.

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


def recalibrate(belief: Array, posterior: Array, given: Index, rows: Index, truth: Index) -> Recalibration:
    """Fit the parameters to the true classes of some rows.

    Parameters
    ----------
    belief, posterior : arrays of shape (n_rows, n_classes)
    given : array of shape (n_rows,)
        Given classes, as positions of columns.
    rows, truth : arrays of shape (n_checked,)
        The checked rows, and their true classes.
    """
    n_classes = belief.shape[1]
    prior, evidence = _log(belief[rows]), _log(posterior[rows]) - _log(belief[rows])
    own, true = np.eye(n_classes)[given[rows]], np.eye(n_classes)[truth]
    spread = np.concatenate([[SLOPES, SLOPES, SHARED], np.full(n_classes, GIVEN), np.full(n_classes, TRUE)])

    def loss(z: Array) -> tuple[float, Array]:
        offset = z[2] + z[3 : 3 + n_classes][given[rows]]
        logits = (1 + z[0]) * prior + (1 + z[1]) * evidence + offset[:, None] * own + z[3 + n_classes :]
        logs = log_softmax(logits, axis=1)
        excess = np.exp(logs) - true
        kept = np.sum(excess * own, axis=1)
        slope = np.concatenate(
            [[np.sum(excess * prior), np.sum(excess * evidence), kept.sum()], kept @ own, excess.sum(axis=0)]
        )
        return float(-np.sum(logs * true) + 0.5 * np.sum((z / spread) ** 2)), slope + z / spread**2

    z = minimize(loss, np.zeros(len(spread)), jac=True, method="L-BFGS-B").x
    return Recalibration((1 + z[0], 1 + z[1]), z[2] + z[3 : 3 + n_classes], z[3 + n_classes :])


def settle(probabilities: Array, found: Mapping[int, int]) -> Array:
    """Return the probabilities with certainty for the rows whose true class was found.

    Parameters
    ----------
    probabilities : array of shape (n_rows, n_classes)
    found : mapping of int to int
        True classes by row.
    """
    settled = probabilities.copy()
    for row, label in found.items():
        settled[row] = 0.0
        settled[row, label] = 1.0
    return settled


def _log(probabilities: Any) -> Array:
    return np.log(np.maximum(probabilities, LOWEST))
