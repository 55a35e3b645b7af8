"""The bundled tables: six sets of the UCI Machine Learning Repository."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._bunch import Dataset, check_choice, check_flags, pack, read_arrays


def _load_table(name: str, *, return_X_y: bool, as_frame: bool) -> Dataset:
    check_flags(return_X_y=return_X_y, as_frame=as_frame)
    stored = read_arrays(name)
    return pack(
        name,
        stored["X"].astype(np.float64),
        stored["y"],
        feature_names=stored["feature_names"].tolist(),
        target_names=stored["target_names"].tolist(),
        return_X_y=return_X_y,
        as_frame=as_frame,
        filename=f"{name}.npz",
    )


def load_ionosphere(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Ionosphere: is a radar return good or bad?

    351 rows, 34 columns (17 complex pulses), 2 classes: 126 bad ("b"), 225 good ("g"). The second column is
    always 0, and one row repeats an earlier one, as in the original file.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give data as a pandas DataFrame and the target as a Series.

    Returns
    -------
    Bunch with ``data`` (351, 34), ``target``, ``frame``, ``feature_names``, ``target_names``, ``DESCR``,
    ``filename``; or ``(data, target)``.

    References
    ----------
    Sigillito, Wing, Hutton, Baker (1989). Classification of radar returns from the ionosphere using neural
    networks. Johns Hopkins APL Technical Digest 10, 262-266.

    Examples
    --------
    >>> from kernelwise.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> X.shape
    (351, 34)
    """
    return _load_table("ionosphere", return_X_y=return_X_y, as_frame=as_frame)


def load_heart(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Statlog (Heart): is heart disease present?

    270 rows, 13 columns (some of them coded categories), 2 classes: 150 absent, 120 present.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give data as a pandas DataFrame and the target as a Series.

    Returns
    -------
    Bunch with ``data`` (270, 13), ``target``, ``frame``, ``feature_names``, ``target_names``, ``DESCR``,
    ``filename``; or ``(data, target)``.

    References
    ----------
    Statlog (Heart). UCI Machine Learning Repository. doi:10.24432/C57303

    Examples
    --------
    >>> from kernelwise.datasets import load_heart
    >>> heart = load_heart()
    >>> heart.data.shape, heart.target_names.tolist()
    ((270, 13), ['absent', 'present'])
    """
    return _load_table("heart", return_X_y=return_X_y, as_frame=as_frame)


def load_sonar(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Sonar: did the echo come from a mine or a rock?

    208 rows, 60 columns (energy in 60 frequency bands), 2 classes: 111 mines ("M"), 97 rocks ("R"). The rows are
    in the order of the original file.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give data as a pandas DataFrame and the target as a Series.

    Returns
    -------
    Bunch with ``data`` (208, 60), ``target``, ``frame``, ``feature_names``, ``target_names``, ``DESCR``,
    ``filename``; or ``(data, target)``.

    References
    ----------
    Gorman, Sejnowski (1988). Analysis of hidden units in a layered network trained to classify sonar targets.
    Neural Networks 1, 75-89.

    Examples
    --------
    >>> from kernelwise.datasets import load_sonar
    >>> X, y = load_sonar(return_X_y=True)
    >>> X.shape
    (208, 60)
    """
    return _load_table("sonar", return_X_y=return_X_y, as_frame=as_frame)


def load_australian(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Statlog (Australian Credit Approval): is a credit application approved?

    690 rows, 14 columns A1..A14 without names, 2 classes: 383 "-", 307 "+". A1, A4, A5, A6, A8, A9, A11 and A12
    are coded categories.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give data as a pandas DataFrame and the target as a Series.

    Returns
    -------
    Bunch with ``data`` (690, 14), ``target``, ``frame``, ``feature_names``, ``target_names``, ``DESCR``,
    ``filename``; or ``(data, target)``.

    References
    ----------
    Quinlan (1987). Simplifying decision trees. International Journal of Man-Machine Studies 27, 221-234.

    Examples
    --------
    >>> from kernelwise.datasets import load_australian
    >>> X, y = load_australian(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((690, 14), 307)
    """
    return _load_table("australian", return_X_y=return_X_y, as_frame=as_frame)


def load_breast_cancer(*, include_id: bool = False, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Breast Cancer Wisconsin (Original): is a tumour benign or malignant?

    683 rows (16 with unknown values are left out), 9 columns with grades from 1 to 10, 2 classes: 444 benign, 239
    malignant. This is not the set of :func:`sklearn.datasets.load_breast_cancer`, which is the later "Diagnostic"
    one with 30 columns.

    Parameters
    ----------
    include_id : bool, default=False
        Put the sample code number in front as a tenth column. It is an identifier, not a measurement; a widely
        used copy of the set has it among the features, and results published with "10 features" rest on it.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give data as a pandas DataFrame and the target as a Series.

    Returns
    -------
    Bunch with ``data`` (683, 9) or (683, 10), ``target``, ``frame``, ``feature_names``, ``target_names``,
    ``DESCR``, ``filename``; or ``(data, target)``.

    References
    ----------
    Wolberg, Mangasarian (1990). Multisurface method of pattern separation for medical diagnosis applied to breast
    cytology. Proceedings of the National Academy of Sciences 87, 9193-9196.

    Examples
    --------
    >>> from kernelwise.datasets import load_breast_cancer
    >>> load_breast_cancer().data.shape
    (683, 9)
    >>> load_breast_cancer(include_id=True).feature_names[:2]
    ['sample_code_number', 'clump_thickness']
    """
    check_flags(include_id=include_id, return_X_y=return_X_y, as_frame=as_frame)
    stored = read_arrays("breast_cancer")
    X = stored["X"].astype(np.float64)
    feature_names = stored["feature_names"].tolist()
    if include_id:
        X = np.column_stack([stored["sample_code_number"], X])
        feature_names = ["sample_code_number", *feature_names]
    return pack(
        "breast_cancer",
        X,
        stored["y"],
        feature_names=feature_names,
        target_names=stored["target_names"].tolist(),
        return_X_y=return_X_y,
        as_frame=as_frame,
        filename="breast_cancer.npz",
    )


def load_splice(
    *,
    n_classes: Literal[2, 3] = 2,
    encoding: Literal["codes", "letters", "onehot"] = "codes",
    letter_order: str = "ACGT",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Dataset:
    """Load Splice-junction Gene Sequences: is there a boundary in the middle of a piece of DNA?

    3175 sequences (15 with ambiguous letters are left out) of 60 letters, positions -30..-1 and +1..+30.

    Parameters
    ----------
    n_classes : {2, 3}, default=2
        2: "neither" (1648) and "boundary" (1527). 3: exon to intron "EI" (762), intron to exon "IE" (765) and
        neither, "N" (1648).
    encoding : {"codes", "letters", "onehot"}, default="codes"
        "codes": 60 columns with the numbers 1, 2, 3, 4. "letters": 60 columns of strings. "onehot": 240 columns,
        four per position, with a single 1 among them.
    letter_order : str, default="ACGT"
        Which letter is coded 1, 2, 3, 4, or the order of the four columns of a position; without effect on
        "letters". The order matters wherever the codes are taken for numbers: the coherence
        :math:`\\mu_{50} = 1.97` printed in [2]_ is obtained with "AGCT" (A=1, G=2, C=3, T=4); "ACGT" gives 1.83.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give data as a pandas DataFrame and the target as a Series.

    Returns
    -------
    Bunch with ``data`` (3175, 60) or (3175, 240), ``target``, ``frame``, ``feature_names``, ``target_names``,
    ``DESCR``, ``filename``; or ``(data, target)``.

    References
    ----------
    .. [1] Noordewier, Towell, Shavlik (1991). Training knowledge-based neural networks to recognize genes in DNA
       sequences. NIPS 3.
    .. [2] Yang, Jin (2014). Extracting certainty from uncertainty: transductive pairwise classification from
       pairwise similarities. NIPS 27, Table 1.

    Examples
    --------
    >>> from kernelwise.datasets import load_splice
    >>> splice = load_splice(encoding="letters")
    >>> splice.data.shape, "".join(splice.data[0, 28:32])
    ((3175, 60), 'GGGT')
    >>> load_splice(letter_order="AGCT").data[0, 28:32]
    array([2., 2., 2., 4.])
    """
    check_flags(return_X_y=return_X_y, as_frame=as_frame)
    check_choice("n_classes", n_classes, (2, 3))
    check_choice("encoding", encoding, ("codes", "letters", "onehot"))
    if not isinstance(letter_order, str) or sorted(letter_order) != list("ACGT"):
        raise ValueError(f"letter_order must hold each of A, C, G, T once, like 'ACGT'; got {letter_order!r}")
    stored = read_arrays("splice")
    data, feature_names = _encode(stored["X"], stored["feature_names"].tolist(), encoding, letter_order)
    target, target_names = stored["y"], stored["target_names"].tolist()
    if n_classes == 2:
        target, target_names = target != target_names.index("N"), ["neither", "boundary"]
    return pack(
        "splice",
        data,
        target,
        feature_names=feature_names,
        target_names=target_names,
        return_X_y=return_X_y,
        as_frame=as_frame,
        filename="splice.npz",
    )


def _encode(
    stored: NDArray[np.uint8], positions: list[str], encoding: str, letter_order: str
) -> tuple[NDArray[Any], list[str]]:
    """Letters, codes 1..4 or indicators of the stored indices into "ACGT"."""
    if encoding == "letters":
        return np.array(list("ACGT"))[stored], positions
    rank = np.array([letter_order.index(letter) for letter in "ACGT"])[stored]
    if encoding == "codes":
        return rank + 1.0, positions
    indicators = (rank[:, :, None] == np.arange(4)).astype(np.float64)
    names = [f"{position}={letter}" for position in positions for letter in letter_order]
    return indicators.reshape(len(stored), -1), names
