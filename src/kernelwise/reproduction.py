"""The old place of the experiments of the papers: see :mod:`kernelwise.papers`, and ``kernelwise reproduce``."""

import sys
import warnings
from importlib import import_module


def __getattr__(name: str) -> object:
    """Load a name from its new place, and say which it is."""
    if name.startswith("_"):
        raise AttributeError(name)
    value = getattr(import_module("kernelwise.papers"), name)
    warnings.warn(f"kernelwise.reproduction goes in 0.4: use kernelwise.papers.{name}", FutureWarning, stacklevel=2)
    return value


if __name__ == "__main__":
    from kernelwise.cli import main

    print("kernelwise.reproduction goes in 0.4: use kernelwise reproduce", file=sys.stderr)
    sys.exit(main(["reproduce", *sys.argv[1:]]))
