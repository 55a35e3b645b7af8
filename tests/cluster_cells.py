"""What cells do to the workers of a cluster; importable, so that workers find it. Run: the command line on ``tiny``."""

import os
import signal
import sys
import time

import numpy as np
from threadpoolctl import threadpool_info

import cluster_cells
from kernelwise.papers import Cell
from tiny_experiment import reproduce, sample_mean, tiny

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


def takes_a_second(cell, seed):
    time.sleep(1.0)
    return sample_mean(cell, seed)


if __name__ == "__main__":
    # By the name under which workers find the function.
    sys.exit(reproduce(tiny(cluster_cells.takes_a_second), *sys.argv[1:]))
