"""From a bundled file to what a loader returns."""

from collections.abc import Callable, Sequence
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import Bunch

from ..checks import check_choice

# A Bunch, or the pair (X, y) with return_X_y=True: a static type would need two overloads for every loader.
Dataset: TypeAlias = Any
Features: TypeAlias = NDArray[Any] | csr_array
Arrays: TypeAlias = dict[str, NDArray[Any]]


def load(name: str, *, return_X_y: bool, as_frame: bool, **options: Any) -> Dataset:
    """Return a data set of the table :data:`SETS`, made with its own options."""
    check_flags(return_X_y=return_X_y, as_frame=as_frame)
    path = files(__package__).joinpath("files", f"{name}.npz")
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        stored = dict(archive.items())
    parts = {"target": stored["y"], "target_names": stored["target_names"].tolist(), "filename": f"{name}.npz"}
    parts |= SETS[name](stored, **options)
    return pack(name, return_X_y=return_X_y, as_frame=as_frame, **parts)


def _table(stored: Arrays) -> dict[str, Any]:
    return {"data": stored["X"].astype(np.float64), "feature_names": stored["feature_names"].tolist()}


def _table_with_id(stored: Arrays, include_id: bool) -> dict[str, Any]:
    check_flags(include_id=include_id)
    table = _table(stored)
    if include_id:
        table["data"] = np.column_stack([stored["sample_code_number"], table["data"]])
        table["feature_names"] = ["sample_code_number", *table["feature_names"]]
    return table


def _sequences(stored: Arrays, n_classes: int, encoding: str, letter_order: str) -> dict[str, Any]:
    """Return letters, codes 1..4 or indicators, where the file has the positions of the letters in "ACGT"."""
    if isinstance(n_classes, bool) or n_classes not in (2, 3):
        raise ValueError(f"n_classes must be 2 or 3, got {n_classes!r}")
    check_choice("encoding", encoding, ("codes", "letters", "onehot"))
    if not isinstance(letter_order, str) or sorted(letter_order) != list("ACGT"):
        raise ValueError(f"letter_order must hold each of A, C, G, T once, like 'ACGT'; got {letter_order!r}")
    names, target_names = stored["feature_names"].tolist(), stored["target_names"].tolist()
    rank = np.array([letter_order.index(letter) for letter in "ACGT"])[stored["X"]]
    data: NDArray[Any] = rank + 1.0
    if encoding == "letters":
        data = np.array(list("ACGT"))[stored["X"]]
    elif encoding == "onehot":
        data = (rank[:, :, None] == np.arange(4)).astype(np.float64).reshape(len(rank), -1)
        names = [f"{position}={letter}" for position in names for letter in letter_order]
    parts = {"data": data, "feature_names": names}
    if n_classes == 2:
        parts |= {"target": stored["y"] != target_names.index("N"), "target_names": ["neither", "boundary"]}
    return parts


def _network(stored: Arrays, n_words: int) -> dict[str, Any]:
    """Return papers with binary words; the file has the positions of the ones, and scikit-learn needs them in int32."""
    ones = np.ones(len(stored["indices"]))
    words = csr_array((ones, stored["indices"].astype(np.int32), stored["indptr"]), shape=(len(stored["y"]), n_words))
    numbers: dict[str, Any] = {name: stored[name].astype(np.int64) for name in ("edges", "paper_ids") if name in stored}
    return {"data": words, "feature_names": [f"word_{word:04d}" for word in range(n_words)], **numbers}


#: How the arrays of each file become data.
SETS: dict[str, Callable[..., dict[str, Any]]] = {
    "ionosphere": _table,
    "heart": _table,
    "sonar": _table,
    "australian": _table,
    "breast_cancer": _table_with_id,
    "splice": _sequences,
    "cora": _network,
    "citeseer": _network,
}


def pack(
    name: str,
    data: Features,
    target: NDArray[np.integer],
    *,
    feature_names: list[str],
    target_names: Sequence[str],
    return_X_y: bool,
    as_frame: bool,
    **extra: object,
) -> Dataset:
    """Arrange the parts of a set as scikit-learn's loaders do."""
    target = target.astype(np.int64)
    frame = None
    if as_frame:
        import pandas as pd

        make = pd.DataFrame.sparse.from_spmatrix if issparse(data) else pd.DataFrame
        data, target = make(data, columns=feature_names), pd.Series(target, name="target")
        frame = pd.concat([data, target], axis="columns")
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=feature_names,
        target_names=np.array(target_names),
        DESCR=files(__package__).joinpath("descr", f"{name}.rst").read_text(encoding="utf-8"),
        **extra,
    )


def check_flags(**flags: object) -> None:
    """Raise unless all flags are True or False, since ``as_frame="no"`` would mean yes. Frames need pandas."""
    for name, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name} must be True or False, got {value!r}")
    if flags.get("as_frame") and find_spec("pandas") is None:
        raise ImportError("as_frame=True needs pandas: pip install pandas")
