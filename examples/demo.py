"""The tour of what kernelwise does, run by `make demo`; `kernelwise demo` is the same."""

import sys

from kernelwise.cli import main

if __name__ == "__main__":
    sys.exit(main(["demo"]))
