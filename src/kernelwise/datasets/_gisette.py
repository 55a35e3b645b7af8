"""Gisette, which is too large for the package: the files are downloaded once and kept."""

import errno
import hashlib
import http.client
import logging
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import scipy.sparse as sp

from ..checks import Array, IntArray, check_choice
from ..whole_files import whole_file
from ._loading import Dataset, check_flags, pack

UCI_ADDRESS = "https://archive.ics.uci.edu/ml/machine-learning-databases/gisette"
DATASET_PAGE = "https://archive.ics.uci.edu/dataset/170/gisette"
#: The name of the file of :func:`load_gisette_reconstruction`.
RECONSTRUCTION = "gisette_reconstructed.npz"
TIMEOUT_SECONDS = 60
CHUNK_BYTES = 1 << 20

Progress = Callable[[str, int, int | None], object]

logger = logging.getLogger(__name__)


#: The files of each part below the base address, with the SHA-256 of their bytes: first the features, integers from 0
#: to 999, then a label, -1 or +1, for each row.
Part = dict[str, str]
PARTS: dict[str, Part] = {
    "train": {
        "GISETTE/gisette_train.data": "6d4c5e998afe67937b9e77a3334e03c85e545ebc65a6eb1333ffc14125cfc389",
        "GISETTE/gisette_train.labels": "42bd681fe51b161f033df773df14a0116e492676555ab14616c1b72edc054075",
    },
    "valid": {
        "GISETTE/gisette_valid.data": "5cea897956dd172a006132738254a27a8f61ecc1ceb6f5b20639c281d2942254",
        "gisette_valid.labels": "a6b857a0448023f033c4dda2ef848714b4be2ae45ce598d088fb3efb406e08c5",
    },
}


def fetch_gisette(
    *,
    subset: Literal["train", "valid", "all"] = "train",
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    base_url: str = UCI_ADDRESS,
    callback: Progress | None = None,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Dataset:
    """Load Gisette, and download it first if necessary: is a handwritten digit a 4 or a 9?

    5000 columns with integers from 0 to 999, 2 classes of the same size: 6000 rows for training, 1000 rows for
    validation. The completion paper uses both, 7000 rows. The labels of the 6500 test rows of the competition were
    never published, so these rows are not offered.

    The first call downloads text files of 68 MB ("train") and 11 MB ("valid"); later calls read them from disk. Every
    call compares their SHA-256 checksums. The checksums were collected from several public projects that use the same
    files; they agree with each other, but were not compared with the original server.

    Parameters
    ----------
    subset : {"train", "valid", "all"}, default="train"
        Which rows; "all" is "train" followed by "valid".
    data_home : path, default=None
        Where to keep the files: in its subfolder ``gisette``. None: the environment variable ``KERNELWISE_DATA``,
        or else ``~/kernelwise_data``.
    download_if_missing : bool, default=True
        With False, raise an OSError when a file is missing instead of downloading it.
    base_url : str, default=the UCI Machine Learning Repository
        The address of a mirror with the same folders: ``GISETTE/gisette_train.data`` and so on.
    callback : callable, default=None
        Called as ``callback(file_name, bytes_so_far, bytes_in_total)`` during a download; the total is None if
        the server does not tell. Progress is also logged, at level INFO.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give data as a pandas DataFrame and the target as a Series.

    Returns
    -------
    Bunch with ``data`` (6000, 1000 or 7000 rows, 240 MB for "train"), ``target`` (0 for label -1, 1 for +1),
    ``frame``, ``feature_names``, ``target_names``, ``DESCR``, ``filename`` (the files read); or ``(data, target)``.

    Raises
    ------
    OSError
        If a file is missing and cannot be downloaded, or its checksum is wrong. No partial file is left behind.

    References
    ----------
    Guyon, Gunn, Ben-Hur, Dror (2004). Result analysis of the NIPS 2003 feature selection challenge. NIPS 17.

    Examples
    --------
    >>> from kernelwise.datasets import fetch_gisette
    >>> X, y = fetch_gisette(subset="all", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (7000, 5000)
    """
    check_choice("subset", subset, ("train", "valid", "all"))
    check_flags(download_if_missing=download_if_missing, return_X_y=return_X_y, as_frame=as_frame)
    if not isinstance(base_url, str) or not base_url.startswith(("http://", "https://")):
        raise ValueError(f"base_url must start with http:// or https://, got {base_url!r}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
    folder = data_folder(data_home)
    parts = [PARTS[name] for name in (("train", "valid") if subset == "all" else (subset,))]
    provide(parts, folder, base_url if download_if_missing else None, callback)
    files = [str(folder / Path(path).name) for part in parts for path in part]
    return _packed(*read_parts(parts, folder), files, return_X_y=return_X_y, as_frame=as_frame)


def load_gisette_reconstruction(data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a reconstruction of Gisette from MNIST, for those who cannot download the files. It is not Gisette."""
    path = data_folder(data_home) / RECONSTRUCTION
    with np.load(path, allow_pickle=False) as file:
        X = sp.csr_array((file["x_data"], file["x_indices"], file["x_indptr"]), shape=tuple(file["x_shape"]))
        y = (file["y"] > 0).astype(np.int64)
    return _packed(X.astype(np.float64), y, [str(path)], return_X_y=False, as_frame=False)


def _packed(X: Any, y: IntArray, files: list[str], **flags: bool) -> Dataset:
    names = [f"feature_{column:04d}" for column in range(X.shape[1])]
    return pack("gisette", X, y, feature_names=names, target_names=["-1", "+1"], filename=files, **flags)


def data_folder(data_home: str | os.PathLike[str] | None) -> Path:
    """Return the folder of the files."""
    if data_home is None:
        data_home = os.environ.get("KERNELWISE_DATA") or Path("~", "kernelwise_data")
    if not isinstance(data_home, (str, os.PathLike)):
        raise TypeError(f"data_home must be a path or None, got {data_home!r}")
    return Path(data_home).expanduser() / "gisette"


def provide(parts: list[Part], folder: Path, base_url: str | None, callback: Progress | None) -> None:
    """Download the files that are missing in the folder, and check the checksums of all files."""
    wanted = [(path, folder / Path(path).name, digest) for part in parts for path, digest in part.items()]
    missing = [file for file in wanted if not file[1].exists()]
    if missing and base_url is None:
        names = ", ".join(target.name for _, target, _ in missing)
        raise OSError(f"{names} not found and download_if_missing=False. {by_hand(folder)}")
    for path, target, digest in missing:
        download(f"{base_url}/{path}", target, digest, callback)
    for file in wanted:
        _, target, digest = file
        with target.open("rb") as stream:
            damaged = file not in missing and hashlib.file_digest(stream, "sha256").hexdigest() != digest
        if damaged:
            raise OSError(f"{target} is damaged: its SHA-256 is not {digest}. Delete it and try again")


def by_hand(folder: Path) -> str:
    return f"You can download the files from {DATASET_PAGE} in a browser and put them into {folder}"


def download(url: str, target: Path, digest: str, callback: Progress | None) -> None:
    """Download a file; the file gets its name only when its checksum is right."""
    folder = target.parent
    folder.mkdir(parents=True, exist_ok=True)
    logger.info("downloading %s", url)
    try:
        with whole_file(target) as stream:
            found = _copy(url, stream, target.name, callback)
            if found != digest:
                raise OSError(f"the SHA-256 is {found}, expected {digest}")
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # the error holds the open answer of the server
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
        remedy = f"Make room in {folder}" if full else f"Try again later. {by_hand(folder)}"
        raise OSError(f"could not download {url}: {error}. {remedy}") from error


def _copy(url: str, target: BinaryIO, name: str, callback: Progress | None) -> str:
    """Copy the file at the address and return its SHA-256."""
    digest, so_far = hashlib.sha256(), 0
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
        length = response.headers.get("Content-Length")
        total = int(length) if length else None
        while chunk := response.read(CHUNK_BYTES):
            target.write(chunk)
            digest.update(chunk)
            so_far += len(chunk)
            logger.info("%s: %d of %s bytes", name, so_far, total or "unknown")
            if callback is not None:
                callback(name, so_far, total)
    return digest.hexdigest()


def read_parts(parts: list[Part], folder: Path) -> tuple[Array, IntArray]:
    """Return the rows of the parts, one below the other, with labels -1 and +1 as 0 and 1."""
    files = [folder / Path(path).name for part in parts for path in part]
    X, y = (
        np.concatenate([np.loadtxt(file, dtype=np.int32, ndmin=2) for file in files if file.suffix == suffix])
        for suffix in (".data", ".labels")
    )
    return X.astype(np.float64), (y.ravel() > 0).astype(np.int64)
