"""Store the statistical answers anew, on purpose: ``python tests/golden/renew.py [case ...]``.

The table that is printed says which outputs changed: the first number that differs most, before and after, and the
difference relative to the size of the output. Explain every line of it in the commit that holds the new files. Ten runs
with moved features say how far each output hangs on rounding (``tests/everywhere/test_continuity.py``); ten times this
movement is the tolerance of the test.

``python tests/golden/renew.py --check [case ...]`` stores nothing, says which answers are not those that are stored,
and fails if there are any.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden.cases import CASES, features_moved
from golden.stored import FOLDER, changes, difference, leaves, plain, read, write

N_DRAWS = 10


def furthest(old, new):
    """The two numbers, or texts, that are furthest apart."""
    after = dict(leaves(new))
    places = [(before, after.get(place)) for place, before in leaves(old) if after.get(place) != before]
    return max(places, key=lambda pair: difference(*pair), default=("", ""))


def show(name, pairs):
    """Print the outputs that changed."""
    for output, (old, new) in pairs.items():
        before, after = furthest(old, new)
        print(f"{name:40s} {output:22s} {before!s:>18} {after!s:>18} {difference(old, new):10.2g}")


def moved(name, outputs):
    """How far every output moves with the features."""
    runs = []
    for draw in range(N_DRAWS):
        with features_moved(draw):
            runs.append(plain(CASES[name]()))
    moves = {key: max(difference(outputs[key], run[key]) for run in runs) for key in outputs}
    if jumps := [key for key, move in moves.items() if not move < 1]:
        raise SystemExit(f"{name} hangs on rounding: {', '.join(jumps)}")
    return moves


def renew(names):
    """Run the cases, print what changed, and store it."""
    unchanged = 0
    for name in names:
        old, new = read(name)[0], plain(CASES[name]())
        both = {key: (old.get(key), new.get(key)) for key in old | new}
        changed = {key: pair for key, pair in both.items() if difference(*pair) > 0}
        unchanged += len(both) - len(changed)
        show(name, changed)
        write(name, new, moved(name, new))
    for path in FOLDER.glob("*.json"):
        if path.name.removesuffix(".json") not in CASES:
            print(f"{path.stem:40s} is no case any more")
            path.unlink()
    print(f"{unchanged} outputs did not change")


def check(names):
    """Print which answers differ from the stored ones, and return their number."""
    n_changed = 0
    for name in names:
        changed = changes(name, plain(CASES[name]()))
        show(name, changed)
        n_changed += bool(changed)
    return n_changed


if __name__ == "__main__":
    asked = [name for name in sys.argv[1:] if name != "--check"] or list(CASES)
    if "--check" in sys.argv:
        sys.exit(bool(check(asked)))
    renew(asked)
