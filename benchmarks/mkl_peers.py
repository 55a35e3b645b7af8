"""From X to a fitted model, against MKLpy's EasyMKL: scikit-learn's breast cancer data, 310 kernels.

MKLpy needs an environment of its own. Make one with ``pip install MKLpy`` in it and name its interpreter in the
variable KERNELWISE_PEERS_PYTHON; without it this benchmark says so and measures nothing.
"""

import json
import os
import subprocess
from typing import Any

from .measure import in_fresh_process, record

TITLE = "End to end on breast cancer (sklearn), n = 455, 310 kernels: SimpleMKLClassifier against MKLpy EasyMKL"

#: Run by the other interpreter: the same split, the same kernels, the model's defaults but for the SVM's C = 1.
PEER = """
import json, resource, time
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
import torch
torch.set_num_threads(int(__import__("os").environ.get("OMP_NUM_THREADS", "2")))
from MKLpy.algorithms import EasyMKL
from sklearn.svm import SVC

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
start = time.perf_counter()
low, spread = X_train.min(0), np.ptp(X_train, axis=0)
A, B = (X_train - low) / spread, (X_test - low) / spread

def grams(P, Q):
    for columns in [list(range(A.shape[1]))] + [[j] for j in range(A.shape[1])]:
        D = ((P[:, None, columns] - Q[None, :, columns]) ** 2).sum(-1)
        for width in 2.0 ** np.arange(-3, 7):
            yield torch.tensor(np.exp(-D / (2 * width**2)))

model = EasyMKL(learner=SVC(C=1.0)).fit(list(grams(A, A)), torch.tensor(y_train))
seconds = time.perf_counter() - start
accuracy = float((np.asarray(model.predict(list(grams(B, A)))) == y_test).mean())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "accuracy": accuracy, "peak": peak}))
"""


def run() -> list[dict[str, Any]]:
    """Measure both, one after the other."""
    ours = in_fresh_process(fit_ours, prepare=split)
    rows = [
        record("SimpleMKLClassifier: X to fitted model, with calibration", ours.seconds, "s"),
        record("SimpleMKLClassifier: accuracy", ours.result, ""),
        record("SimpleMKLClassifier: peak memory", ours.peak_bytes / 1e9, "GB"),
    ]
    python = os.environ.get("KERNELWISE_PEERS_PYTHON")
    if not python or subprocess.run([python, "-c", "import MKLpy"], capture_output=True).returncode != 0:
        print("EasyMKL is not measured: set KERNELWISE_PEERS_PYTHON to an interpreter that has MKLpy installed")
        return rows
    answer = subprocess.run([python, "-c", PEER], capture_output=True, text=True, check=True)
    peer = json.loads(answer.stdout.splitlines()[-1])
    return rows + [
        record("EasyMKL: X to fitted model", peer["seconds"], "s"),
        record("EasyMKL: accuracy", peer["accuracy"], ""),
        record("EasyMKL: peak memory", peer["peak"] / 1e9, "GB"),
        record("times faster", peer["seconds"] / ours.seconds, "", at_least=1.0),
        record("share of its memory", ours.peak_bytes / peer["peak"], "", at_most=0.5),
    ]


def split() -> tuple[Any, ...]:
    """Return the training and test parts of the data."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    X, y = load_breast_cancer(return_X_y=True)
    return tuple(train_test_split(X, y, test_size=0.2, random_state=0))


def fit_ours(X_train: Any, X_test: Any, y_train: Any, y_test: Any) -> float:
    """Fit with the defaults and return the accuracy on the test part."""
    from kernelwise import SimpleMKLClassifier

    return float(SimpleMKLClassifier(random_state=0).fit(X_train, y_train).score(X_test, y_test))
