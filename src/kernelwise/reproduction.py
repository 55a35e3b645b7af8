"""The old place of the experiments of the papers: ``python -m kernelwise.reproduction`` still runs them."""

import sys
import warnings

from .papers.__main__ import main

warnings.warn("kernelwise.reproduction goes in 0.4: use kernelwise.papers", FutureWarning, stacklevel=2)

if __name__ == "__main__":
    sys.exit(main())
