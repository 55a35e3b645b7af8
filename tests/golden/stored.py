"""Outputs on disk: one readable file of JSON per case, one line per output, numbers to twelve digits.

There is one answer for all processors. How far an output moves if the features move by 1e-10 of their size, as measured
when it was stored, stands in the same file under ``movement`` where it is more than a tenth of the usual tolerance. A
test accepts ten times the movement.
"""

import json
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "stored"
#: Numbers may differ by this fraction of the largest number of their output, or of 1 if all are smaller; an output that
#: moves more than a tenth of this may differ by ten times its movement.
TOLERANCE = 1e-6
TIMES = 10
#: The key of the movements in a file.
MOVEMENT = "movement"


def plain(value):
    """The value as JSON has it, with floats of twelve digits."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def read(name):
    """The stored outputs of a case, and how far each may be off; none if it was never stored."""
    path = FOLDER / f"{name}.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    moves = stored.pop(MOVEMENT, {})
    return stored, {key: max(TOLERANCE, TIMES * moves.get(key, 0.0)) for key in stored}


def write(name, outputs, moves):
    """Store the plain outputs of a case, and those movements that matter, rounded up to one digit."""
    FOLDER.mkdir(exist_ok=True)
    matter = {key: _rounded_up(move) for key, move in moves.items() if TIMES * move > TOLERANCE}
    stored = outputs | ({MOVEMENT: matter} if matter else {})
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in stored.items()]
    (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _rounded_up(number):
    digit = 10.0 ** np.floor(np.log10(number))
    return float(f"{np.ceil(number / digit) * digit:.1g}")


def changes(name, found):
    """The outputs that differ from the stored ones by more than they may, as pairs of before and after."""
    stored, tolerance = read(name)
    both = {key: (stored.get(key), found.get(key)) for key in stored | found}
    return {key: pair for key, pair in both.items() if not difference(*pair) <= tolerance.get(key, TOLERANCE)}


def difference(old, new):
    """How far two plain outputs are apart, relative to the largest number of the old one if it is above 1.

    The difference is infinite if they do not consist of the same parts, or if a text, a truth value or a whole number
    is another one.
    """
    old_leaves, new_leaves = dict(leaves(old)), dict(leaves(new))
    if old_leaves.keys() != new_leaves.keys():
        return np.inf
    numbers = [key for key, leaf in old_leaves.items() if isinstance(leaf, float)]
    if any(new_leaves[key] != leaf for key, leaf in old_leaves.items() if key not in numbers):
        return np.inf
    if not all(isinstance(new_leaves[key], float) for key in numbers):
        return np.inf
    before, after = (np.array([parts[key] for key in numbers]) for parts in (old_leaves, new_leaves))
    size = np.abs(before).max(initial=1.0)
    return float(np.abs(after - before).max(initial=0.0) / size)


def leaves(value, place=()):
    """The numbers and texts inside a plain value, with their places."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, (*place, key))
    else:
        yield place, value
