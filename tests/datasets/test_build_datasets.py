import importlib.util
import io
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from kernelwise import datasets


@pytest.fixture(scope="module")
def tool():
    path = Path(__file__).parents[2] / "tools" / "build_datasets.py"
    spec = importlib.util.spec_from_file_location("build_datasets", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_datasets"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["build_datasets"]


def test_tool_knows_every_bundled_set(tool):
    assert {f"load_{name}" for name in tool.RECIPES} == {n for n in datasets.__all__ if n.startswith("load_")}


def test_tool_writes_what_check_accepts_and_notices_changes(tool, tmp_path, rng):
    built = {"heart": {"X": rng.normal(size=(5, 2)), "y": np.array([0, 1, 0, 1, 1])}}
    assert tool.differences(built, tmp_path) == [f"{tmp_path / 'manifest.json'} is missing"]
    tool.write(built, tmp_path)
    first = (tmp_path / "heart.npz").read_bytes()
    tool.write(built, tmp_path)
    assert (tmp_path / "heart.npz").read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["heart.npz", "manifest.json"]
    assert tool.differences(built, tmp_path) == []
    changed = {"heart": built["heart"] | {"y": np.zeros(5, dtype=int)}}
    assert tool.differences(changed, tmp_path) == ["heart: array 'y' differs"]
    (tmp_path / "heart.npz").write_bytes(tool.packed(changed["heart"]))
    assert tool.differences(changed, tmp_path) == ["heart: the checksum is not the one in the manifest"]


def test_tool_refuses_wrong_counts(tool):
    arrays = {"X": np.zeros((3, 13)), "y": np.array([0, 1, 1]), "feature_names": np.array(["a"] * 13)}
    with pytest.raises(SystemExit, match=r"heart: .*\(1, 2\).*expected.*\(150, 120\)"):
        tool.RECIPES["heart"].check("heart", arrays)


def test_tool_unpickles_arrays_only(tool):
    numbers = b"\x80\x02ccollections\ndefaultdict\nq\x00c__builtin__\nlist\nq\x01\x85q\x02Rq\x03K\x01]K\x02as."
    assert tool.ArrayUnpickler(io.BytesIO(numbers)).load() == {1: [2]}
    for harmful in (eval, print, Path):
        with pytest.raises(pickle.UnpicklingError, match="refusing to load"):
            tool.ArrayUnpickler(io.BytesIO(pickle.dumps(harmful, protocol=2))).load()


@pytest.mark.parametrize(
    ("number", "expected"),
    [("22.08", "2208"), ("2208.0", "2208"), ("0.5", "5"), ("5.0", "5"), ("20", "20"), ("0", ""), ("0.040", "4")],
)
def test_tool_compares_numbers_by_their_digits(tool, number, expected):
    assert tool.digits(number) == expected
