"""Store the statistical answers anew, on purpose: ``python tests/golden/renew.py [--processor] [case ...]``.

With ``--processor``, the answers are stored beside those of other processors, which stay.

The table that is printed says which outputs changed: the first number that differs most, before and after, and the
difference relative to the size of the output. Explain every line of it in the commit that holds the new files.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden.cases import CASES
from golden.stored import FOLDER, KIND, TOLERANCE, difference, leaves, plain, read, write


def furthest(old, new):
    """The two numbers, or texts, that are furthest apart."""
    after = dict(leaves(new))
    places = [(before, after.get(place)) for place, before in leaves(old) if after.get(place) != before]
    return max(places, key=lambda pair: difference(*pair), default=("", ""))


def renew(names, kind=None):
    """Run the cases, print what changed, and store it."""
    unchanged = 0
    for name in names:
        old, new = read(name), plain(CASES[name]())
        for output in old | new:
            apart = difference(old.get(output), new.get(output))
            if apart == 0:
                unchanged += 1
                continue
            before, after = furthest(old.get(output), new.get(output))
            print(f"{name:40s} {output:22s} {before!s:>18} {after!s:>18} {apart:10.2g}")
        if kind is None or any(not difference(old.get(key), new.get(key)) <= TOLERANCE for key in old | new):
            write(name, new, kind=kind)
    for path in FOLDER.glob("*.json"):
        if path.name.split(".")[0] not in CASES:
            print(f"{path.stem:40s} is no case any more")
            path.unlink()
    print(f"{unchanged} outputs did not change")


if __name__ == "__main__":
    asked = [name for name in sys.argv[1:] if name != "--processor"]
    renew(asked or CASES, KIND if "--processor" in sys.argv else None)
