"""What memory is left, and the refusals of what would not fit."""

import subprocess
import sys

import pytest

from kernelwise import checks

MEMINFO = "MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:   8000000 kB\n"
#: Systems by name: what stands in which file, and what is left.
SYSTEMS = {
    "a machine": ({"proc/meminfo": MEMINFO}, 8_000_000 * 1024),
    "a group of version 2": (
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/user/me\n",
            "sys/fs/cgroup/user/me/memory.max": "max\n",
            "sys/fs/cgroup/user/me/memory.current": "100\n",
            "sys/fs/cgroup/user/memory.max": "2000000\n",
            "sys/fs/cgroup/user/memory.current": "1500000\n",
            "sys/fs/cgroup/user/memory.stat": "anon 900000\ninactive_file 300000\n",
        },
        2_000_000 - 1_500_000 + 300_000,
    ),
    "a container, which sees its own group as the root": (
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/../../elsewhere\n",
            "sys/fs/cgroup/memory.max": "900000\n",
            "sys/fs/cgroup/memory.current": "1000000\n",
        },
        -100_000,
    ),
    "a group of version 1": (
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/docker/7\n0::/\n",
            "sys/fs/cgroup/memory/docker/7/memory.limit_in_bytes": "5000000\n",
            "sys/fs/cgroup/memory/docker/7/memory.usage_in_bytes": "1000000\n",
            "sys/fs/cgroup/memory/docker/7/memory.stat": "cache 5\ntotal_inactive_file 7\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "1000000\n",
        },
        4_000_007,
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_tightest_limit_counts(tmp_path, monkeypatch, name):
    written, left = SYSTEMS[name]
    for path, content in written.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    assert checks.available() == left


def test_a_system_that_says_little_or_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    assert checks.available() is None or checks.available() > 0
    monkeypatch.delattr("os.sysconf", raising=False)
    assert checks.available() is None
    checks.require(10**18, "everything", "use less")  # nothing is known, so nothing is refused


def test_require(tmp_path, monkeypatch):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemAvailable: 1000000 kB\n")
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    checks.require(10**9, "a matrix", "use rank=")
    with pytest.raises(MemoryError) as caught:
        checks.require(5 * 10**9, "a matrix", "use rank=")
    assert str(caught.value) == "a matrix needs 5.0 GB of memory, and 1.0 GB is available; use rank="


#: Calls that would take more than 300 megabytes, and what the refusal is about.
GUARDED = {
    "dense bank": ("build_bank(rng.normal(size=(9000, 1)), gaussian_kernels(), dense=True)", "dense Gram matrices"),
    "short factor": ("build_bank(rng.normal(size=(200_000, 3)), Gaussian(0.1), rank=400)", "a factor of"),
    "kernel of all": ("UniformKernel().fit(X, y).kernel(np.repeat(X, 400, axis=0))", "a kernel of 20000 x 20000"),
    "completed matrix": ("complete_matrix([0], [1], [1.0], (15_000, 15_000)).to_dense()", "a dense matrix of shape"),
    "label matrix": ("completer(15_000).label_matrix()", "the label matrix of 15000 samples"),
    "nonparametric": (
        "NonparametricKernelLearner(max_samples=10**5).fit(np.repeat(X, 200, axis=0), np.repeat(y, 200))",
        "the kernel",
    ),
    "symmetric part": ("symmetric_part(asymmetric(5000))", "the symmetric part"),
    "similarity in a file": ("read_similarity('empty.mtx')", "a similarity of 20000 items"),
    "many categories": ("read_features('wide.csv')", "400 rows of 51000 features"),
}
PROGRAM = """
import resource, sys, warnings
from pathlib import Path
import numpy as np
from kernelwise import NonparametricKernelLearner, PairCompleter, UniformKernel, complete_matrix
from kernelwise.files import TableFeatures, read_similarity, read_table
from kernelwise.kernels import Gaussian, build_bank, gaussian_kernels
from kernelwise.completion.basis import symmetric_part

rng = np.random.default_rng(0)
X, y = rng.normal(size=(50, 2)), np.arange(50) % 2

def completer(n):
    made = PairCompleter()
    made.factor_ = np.zeros((n, 1))
    return made

def asymmetric(n):
    made = np.zeros((n, n))
    made[0, 1] = 1.0
    return made

def read_features(name):
    table = read_table(name)
    return TableFeatures().fit(table).transform(table)

warnings.simplefilter("ignore")
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 3 * 10**8, taken + 3 * 10**8))
for call in sys.stdin.read().splitlines():
    try:
        eval(call)
        print("done", flush=True)
    except MemoryError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the address space that holds")
def test_large_allocations_are_refused_before_they_are_made(tmp_path):
    (tmp_path / "empty.mtx").write_text("%%MatrixMarket matrix coordinate real general\n20000 20000 1\n1 1 1\n")
    rows = [",".join(f"v{(row * 7 + column) % 197}" for column in range(1000)) for row in range(400)]
    (tmp_path / "wide.csv").write_text("\n".join([",".join(f"c{column}" for column in range(1000)), *rows]) + "\n")
    calls = "\n".join(call for call, _ in GUARDED.values())
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, input=calls, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    for (call, what), said in zip(GUARDED.values(), done.stdout.splitlines(), strict=True):
        assert said.startswith("MemoryError: "), (call, said)
        assert what in said
        assert "GB of memory, and" in said
