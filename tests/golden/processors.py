"""Run the golden cases with other instructions of this processor: ``make test-processors``.

NumPy and the linear algebra library choose their loops by what the processor can do, and loops of different kinds
round differently. The same choice is made here by hand, so that one machine shows what others will answer. Every run
has to agree with the stored answers.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

RENEW = Path(__file__).with_name("renew.py")
#: Kinds of processors whose linear algebra runs on most machines of an architecture.
CORES = {"x86_64": ("Haswell", "Nehalem"), "AMD64": ("Haswell", "Nehalem"), "aarch64": ("ARMV8", "NEOVERSEN1")}


def settings():
    """What to set in the environment, by name; the processor as it is comes first."""
    optional = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    wide = [name for name in optional if name.startswith(("AVX512", "X86_V4", "SVE"))]
    found = {"as it is": {}}
    for words, names in (("without the widest vectors", wide), ("without any optional instructions", optional)):
        if names:
            found[words] = {"NPY_DISABLE_CPU_FEATURES": " ".join(names)}
    for core in CORES.get(platform.machine(), ()):
        found[f"linear algebra of {core}"] = {"OPENBLAS_CORETYPE": core}
        found[f"linear algebra of {core}, no optional instructions"] = {
            "OPENBLAS_CORETYPE": core,
            "NPY_DISABLE_CPU_FEATURES": " ".join(optional),
        }
    return found


def main(names):
    """Run all settings, and return the number of those that disagree."""
    n_wrong = 0
    for words, variables in settings().items():
        print(f"{words}: {variables or 'nothing set'}", flush=True)
        command = [sys.executable, "-W", "ignore", str(RENEW), "--check", *names]
        wrong = subprocess.run(command, env=os.environ | variables).returncode != 0
        print("  disagrees" if wrong else "  agrees with the stored answers", flush=True)
        n_wrong += wrong
    return n_wrong


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
