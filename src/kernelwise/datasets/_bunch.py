"""From a bundled file to what a loader returns."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import Bunch

# A Bunch, or the pair (X, y) with return_X_y=True: a static type would need two overloads for every loader.
Dataset: TypeAlias = Any
Features: TypeAlias = NDArray[Any] | csr_array


def check_flags(**flags: object) -> None:
    """Refuse anything but True and False: ``as_frame="no"`` would silently mean yes. Frames need pandas."""
    for name, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name} must be True or False, got {value!r}")
    if flags.get("as_frame"):
        _import_pandas()


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Refuse a value that is none of the choices; True is not taken for 1."""
    if isinstance(value, bool) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def read_arrays(name: str) -> dict[str, NDArray[Any]]:
    """The arrays of a bundled file."""
    path = files(__package__).joinpath("files", f"{name}.npz")
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        return dict(stored.items())


def describe(name: str) -> str:
    """The description of a set: content, source, licence, citation."""
    return files(__package__).joinpath("descr", f"{name}.rst").read_text(encoding="utf-8")


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
        data, target, frame = _frames(data, target, feature_names)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=feature_names,
        target_names=np.array(target_names),
        DESCR=describe(name),
        **extra,
    )


def _frames(data: Features, target: NDArray[np.integer], feature_names: list[str]) -> tuple[Any, Any, Any]:
    pd = _import_pandas()
    if issparse(data):
        X = pd.DataFrame.sparse.from_spmatrix(data, columns=feature_names)
    else:
        X = pd.DataFrame(data, columns=feature_names)
    y = pd.Series(target, name="target")
    return X, y, pd.concat([X, y], axis="columns")


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("as_frame=True needs pandas: pip install pandas") from error
    return pandas
