"""Outputs on disk: one readable file of JSON per case, one line per output, numbers to twelve digits.

Some answers depend on the last digits of the linear algebra: which tree splits where, or where a search of k-means
ends. The libraries compute differently on processors of different kinds, so that such a case has a second file,
``NAME.KIND.json``, for every other kind of processor that it was run on. The answers of any of these files are right.
"""

import json
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

FOLDER = Path(__file__).parent / "stored"
#: Numbers may differ by this fraction of the largest number of their output.
TOLERANCE = 1e-6
#: The kind of the processor, as the linear algebra library names it.
KIND = next((library["architecture"] for library in threadpool_info() if "architecture" in library), "unknown").lower()


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
    """The stored outputs of a case on processors of this kind; none if it was never stored."""
    for path in (FOLDER / f"{name}.{KIND}.json", FOLDER / f"{name}.json"):
        if path.exists():
            return json.loads(path.read_text(encoding="utf-8"))
    return {}


def read_all(name):
    """The stored outputs of a case on processors of every kind."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob(f"{name}.*json"))]


def write(name, outputs, *, kind=None):
    """Store the plain outputs of a case, for all processors or for one kind."""
    FOLDER.mkdir(exist_ok=True)
    for other in FOLDER.glob(f"{name}.*.json") if kind is None else ():
        other.unlink()  # the answers changed on purpose, and those of other processors are not known yet
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in outputs.items()]
    file = f"{name}.json" if kind is None else f"{name}.{kind}.json"
    (FOLDER / file).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def difference(old, new):
    """How far two plain outputs are apart, relative to the largest number of the old one.

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
    size = np.abs(before).max(initial=0.0) or 1.0
    return float(np.abs(after - before).max(initial=0.0) / size)


def leaves(value, place=()):
    """The numbers and texts inside a plain value, with their places."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, (*place, key))
    else:
        yield place, value
