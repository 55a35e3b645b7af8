"""The benchmark of kernel banks, small and at the size of its claims, and the command line of all benchmarks."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bank_benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("benchmarks.bank")


def values(rows):
    return {row["measurement"].split(": ")[1].split(" (")[0]: row["value"] for row in rows}


def test_products_benchmark_small(bank_benchmark):
    found = values(bank_benchmark.measure_products(n=1000, n_features=3))
    assert found["times smaller"] >= 100
    assert found["largest relative error of a product"] <= 1e-4
    assert found["times faster"] >= 2


@pytest.mark.slow
def test_build_benchmark_small(bank_benchmark):
    found = values(bank_benchmark.measure_build(n=20_000))
    assert found["factors"] == pytest.approx(20_000 * 8 * 930 / 1e6, rel=0.02)
    assert found["peak memory over size of the factors"] <= 1.5


@pytest.mark.slow
def test_benchmarks_meet_what_is_required(tmp_path):
    command = [sys.executable, "-m", "benchmarks", "bank", "--output", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in (tmp_path / "bank.jsonl").read_text().splitlines()]
    required = {row["measurement"]: row["required"] for row in rows if row["required"]}
    assert required == {
        "100 kernels, n = 5,000: times faster": "at least 30",
        "100 kernels, n = 5,000: times smaller": "at least 30",
        "100 kernels, n = 5,000: largest relative error of a product": "at most 0.0001",
        "200 kernels, n = 100,000: peak memory over size of the factors": "at most 1.5",
    }
    assert all(row["met"] and row["threads"] >= 1 for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [(["--list"], 0, "bank: Low-rank banks"), (["banc"], 2, "unknown benchmark 'banc'; choose from bank")],
)
def test_benchmarks_command_line(arguments, code, expected):
    done = subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == code
    assert expected in done.stdout + done.stderr
