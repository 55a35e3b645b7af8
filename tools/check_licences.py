"""Print the licence of every installed distribution, and fail where one is not permissive or not known.

    python tools/check_licences.py

`make licences` runs it in an environment that holds kernelwise with all its extras and nothing else, so that what is
installed is what a user of all extras gets. A licence is read from the metadata of the distribution: the SPDX
expression, else the classifiers, else the first line of the field "License". What a wheel carries beside its own code,
such as the runtime library of a compiler, stands in its licence files only, which are not read.
"""

import re
import sys
from importlib.metadata import Distribution, distributions

#: SPDX identifiers of licences that ask for no more than attribution, or, for MPL, for changes of their own files.
PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "HPND",
    "ISC",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "MPL-2.0",
    "PSF-2.0",
    "Python-2.0",
    "Unlicense",
    "Zlib",
}
#: Exceptions that make what they are attached to permissive for whoever links with it.
EXCEPTIONS = {"GCC-exception-3.1", "LLVM-exception"}

CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "Historical Permission Notice and Disclaimer (HPND)": "HPND",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "zlib/libpng License": "Zlib",
}
PREFIX = "License :: OSI Approved :: "
#: What authors write in the free field.
WORDS = {"BSD License": "BSD", "BSD 3-Clause": "BSD-3-Clause", "MIT License": "MIT", "Apache 2.0": "Apache-2.0"}

#: Distributions whose metadata state no licence, and the one in the licence file that they carry, read by a person.
READ_BY_HAND = {"skops": "MIT"}

#: Part of every environment, not of kernelwise.
INSTALLERS = {"pip", "setuptools", "wheel"}


def stated_licence(distribution: Distribution) -> str:
    """The licence as an SPDX expression, or whatever the metadata say instead; empty if nothing.

    Several classifiers are several licences, all of which have to be kept.
    """
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = [line.removeprefix(PREFIX) for line in metadata.get_all("Classifier", []) if line.startswith(PREFIX)]
    if classifiers:
        return " AND ".join(CLASSIFIERS.get(line, line) for line in classifiers)
    lines = (metadata.get("License") or "").strip().splitlines()
    if lines:
        return WORDS.get(lines[0], lines[0])
    return READ_BY_HAND.get(distribution.name, "")


def is_permissive(expression: str) -> bool:
    """Whether an SPDX expression can be kept by permissive licences alone.

    >>> is_permissive("Apache-2.0 OR GPL-3.0-or-later"), is_permissive("MIT AND (GPL-2.0-only OR LGPL-2.1-only)")
    (True, False)
    >>> is_permissive("BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1"), is_permissive("")
    (True, False)
    """
    tokens = re.findall(r"[()]|[^\s()]+", expression)
    permissive = _any_of(tokens) if tokens else False
    return permissive and not tokens


def _any_of(tokens: list[str]) -> bool:
    found = _all_of(tokens)
    while tokens[:1] == ["OR"]:
        del tokens[0]
        found |= _all_of(tokens)
    return found


def _all_of(tokens: list[str]) -> bool:
    found = _one(tokens)
    while tokens[:1] == ["AND"]:
        del tokens[0]
        found &= _one(tokens)
    return found


def _one(tokens: list[str]) -> bool:
    if not tokens:
        return False
    name = tokens.pop(0)
    if name == "(":
        found = _any_of(tokens)
        return tokens[:1] == [")"] and tokens.pop(0) == ")" and found
    if tokens[:1] == ["WITH"]:
        exception = tokens[1:2]
        del tokens[:2]
        return name in PERMISSIVE or bool(EXCEPTIONS.intersection(exception))
    return name in PERMISSIVE


def main() -> int:
    """Print the table and return the exit status."""
    found = {item.name: item for item in distributions() if item.name.lower() not in {*INSTALLERS, "kernelwise"}}
    rows = [(name, found[name].version, stated_licence(found[name])) for name in sorted(found, key=str.lower)]
    refused = [name for name, _, licence in rows if not is_permissive(licence)]
    width = max(len(name) for name in found)
    for name, version, licence in rows:
        mark = "  <- not on the list of permissive licences" if name in refused else ""
        print(f"{name:<{width}}  {version:<12}  {licence or 'none stated'}{mark}")
    if refused:
        print(f"{len(refused)} of {len(rows)} licences are not permissive or not known: {', '.join(refused)}")
        return 1
    print(f"{len(rows)} distributions, all under permissive licences")
    return 0


if __name__ == "__main__":
    sys.exit(main())
