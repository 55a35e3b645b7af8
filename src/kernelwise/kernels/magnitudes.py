"""Numbers whose squares are numbers too: what to scale by, and what to refuse."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Sums of squares of entries between these limits neither overflow nor vanish.
LEAST, LARGEST = 1e-152, 1e152


def check_magnitude(values: Any, name: str, *, least: float = LEAST) -> None:
    """Raise a ValueError unless the entry of largest magnitude is zero or one whose square is a normal number.

    Parameters
    ----------
    values : array or sparse matrix of finite numbers
    name : str
        What they are, for the message.
    least : float, default=1e-152
        Zero where entries may vanish when squared.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.kernels.magnitudes import check_magnitude
    >>> check_magnitude(np.array([3e200]), "X")
    Traceback (most recent call last):
        ...
    ValueError: the largest magnitude in X is 3e+200, ...; divide X by 3e+200
    """
    largest = largest_magnitude(values)
    if largest != 0 and not least <= largest <= LARGEST:
        raise ValueError(
            f"the largest magnitude in {name} is {largest:.3g}, and squares of such numbers are beyond the range of "
            f"floating point; divide {name} by {largest:.3g}"
        )


def largest_magnitude(values: Any) -> float:
    """The largest absolute value of the entries, 0 where there are none."""
    entries = values.data if hasattr(values, "tocsr") else np.asarray(values)
    return max(float(entries.max(initial=0.0)), -float(entries.min(initial=0.0)))


def power_of_two(magnitudes: Any) -> NDArray[np.float64]:
    """The power of two at or just below each magnitude, 1 for zero: dividing by it is exact.

    Examples
    --------
    >>> from kernelwise.kernels.magnitudes import power_of_two
    >>> power_of_two([0.0, 1.0, 5.0, 0.3]).tolist()
    [1.0, 1.0, 4.0, 0.25]
    """
    sizes = np.asarray(magnitudes, dtype=np.float64)
    powers = np.ldexp(1.0, np.frexp(sizes)[1] - 1)
    # Not below the least normal number, whose reciprocal is still finite.
    return np.where(sizes > 0, np.maximum(powers, np.finfo(np.float64).tiny), 1.0)
