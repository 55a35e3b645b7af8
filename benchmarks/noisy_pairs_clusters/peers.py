"""PCK-Means, MPCK-Means and COP-KMeans of active-semi-supervised-clustering 0.0.1, run by an interpreter of its own.

The package needs an older scikit-learn: ``pip install "scikit-learn==1.7.*" active-semi-supervised-clustering==0.0.1``.
Name the interpreter in the variable KERNELWISE_PEERS_PYTHON. The package refuses pairs that contradict one another, as
almost all pairs with flips do, and its time grows fast: sets of more than ``MAX_SAMPLES`` samples count as too slow.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from .answers import Answer, Refused, TooSlow
from .draws import Task

#: Seconds of processor time, and the number of samples above which a method is not started: 1,000 take up to 43 s.
CPU_LIMIT = 60
MAX_SAMPLES = 600

#: Run by the other interpreter. Its last line says why it stopped where it refused.
PROGRAM = """
import resource, sys, warnings
import numpy as np

warnings.simplefilter("ignore")
method, source, target, limit = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
from active_semi_clustering.semi_supervised import pairwise_constraints
data = np.load(source)
must, cannot = ([tuple(pair) for pair in data[kind].tolist()] for kind in ("must", "cannot"))
np.random.seed(int(data["seed"]))
model = getattr(pairwise_constraints, method)(n_clusters=int(data["n_clusters"]))
np.save(target, model.fit(data["X"], ml=must, cl=cannot).labels_)
"""


def peer(method: str) -> Callable[[Task], Answer]:
    """Return the function that asks the package."""

    def ask(task: Task) -> Answer:
        python = os.environ.get("KERNELWISE_PEERS_PYTHON")
        if not python:
            raise RuntimeError("KERNELWISE_PEERS_PYTHON does not name an interpreter with the package")
        if len(task.X) > MAX_SAMPLES:
            raise TooSlow(f"not started: more than {MAX_SAMPLES} samples")
        ends = np.column_stack([task.pairs.rows, task.pairs.cols])
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "task.npz"), Path(folder, "labels.npy")
            np.savez(
                source,
                X=StandardScaler().fit_transform(task.X),
                must=ends[task.pairs.labels > 0],
                cannot=ends[task.pairs.labels < 0],
                n_clusters=task.n_clusters,
                seed=task.seed,
            )
            command = [python, "-c", PROGRAM, method, str(source), str(target), str(CPU_LIMIT)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode < 0:
                raise TooSlow(f"stopped after {CPU_LIMIT} s")
            if done.returncode:
                raise Refused(done.stderr.strip().splitlines()[-1])
            return Answer(np.load(target))

    return ask
