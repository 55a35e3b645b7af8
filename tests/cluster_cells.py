"""What cells do to the workers of a cluster; importable, so that workers find it. Run: the command line on ``tiny``."""

import os
import signal
import sys
import time

import numpy as np
from threadpoolctl import threadpool_info

from kernelwise.papers import Cell
from tiny_experiment import reproduce, sample_mean, slow_sample_mean, tiny

#: The cell that kills its worker.
DEADLY = Cell.of(size=10, trial=1)


def blas_threads(cell, seed):
    np.linalg.norm(np.eye(2) @ np.eye(2))
    return {"mean": max(pool["num_threads"] for pool in threadpool_info())}


def raises(cell, seed):
    raise ArithmeticError("not on this worker")


def kills_its_worker(cell, seed):
    time.sleep(0.05)
    if cell == DEADLY:
        os.kill(os.getpid(), signal.SIGKILL)
    return sample_mean(cell, seed)


if __name__ == "__main__":
    sys.exit(reproduce(tiny(slow_sample_mean), *sys.argv[1:]))
