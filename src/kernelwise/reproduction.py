"""The old place of the experiments of the papers: ``python -m kernelwise.reproduction`` is ``kernelwise reproduce``."""

import sys
import warnings

from .cli import main

warnings.warn("kernelwise.reproduction goes in 0.4: use kernelwise reproduce", FutureWarning, stacklevel=2)

if __name__ == "__main__":
    sys.exit(main(["reproduce", *sys.argv[1:]]))
