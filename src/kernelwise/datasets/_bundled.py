"""The bundled sets: six tables of the UCI Machine Learning Repository and two citation networks."""

from typing import Literal

from ._loading import Dataset, load


def load_ionosphere(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Ionosphere: is a radar return good or bad?

    351 rows, 34 columns (17 complex pulses), 2 classes: 126 bad ("b"), 225 good ("g"). The second column is
    always 0, and one row repeats an earlier one, as in the original file.

    Parameters
    ----------
    return_X_y, as_frame : bool, default=False
        Return ``(data, target)`` instead of a Bunch; give them as a pandas DataFrame and a Series.

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
    return load("ionosphere", return_X_y=return_X_y, as_frame=as_frame)


def load_heart(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Statlog (Heart): is heart disease present?

    270 rows, 13 columns (some of them coded categories), 2 classes: 150 absent, 120 present.

    Parameters
    ----------
    return_X_y, as_frame : bool, default=False
        Return ``(data, target)`` instead of a Bunch; give them as a pandas DataFrame and a Series.

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
    return load("heart", return_X_y=return_X_y, as_frame=as_frame)


def load_sonar(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Sonar: did the echo come from a mine or a rock?

    208 rows, 60 columns (energy in 60 frequency bands), 2 classes: 111 mines ("M"), 97 rocks ("R"). The rows are
    in the order of the original file.

    Parameters
    ----------
    return_X_y, as_frame : bool, default=False
        Return ``(data, target)`` instead of a Bunch; give them as a pandas DataFrame and a Series.

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
    return load("sonar", return_X_y=return_X_y, as_frame=as_frame)


def load_australian(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Statlog (Australian Credit Approval): is a credit application approved?

    690 rows, 14 columns A1..A14 without names, 2 classes: 383 "-", 307 "+". A1, A4, A5, A6, A8, A9, A11 and A12
    are coded categories.

    Parameters
    ----------
    return_X_y, as_frame : bool, default=False
        Return ``(data, target)`` instead of a Bunch; give them as a pandas DataFrame and a Series.

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
    return load("australian", return_X_y=return_X_y, as_frame=as_frame)


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
    return_X_y, as_frame : bool, default=False
        Return ``(data, target)`` instead of a Bunch; give them as a pandas DataFrame and a Series.

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
    return load("breast_cancer", return_X_y=return_X_y, as_frame=as_frame, include_id=include_id)


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
    return_X_y, as_frame : bool, default=False
        Return ``(data, target)`` instead of a Bunch; give them as a pandas DataFrame and a Series.

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
    options = {"n_classes": n_classes, "encoding": encoding, "letter_order": letter_order}
    return load("splice", return_X_y=return_X_y, as_frame=as_frame, **options)


def load_cora(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Cora: machine-learning papers, their words and their citations.

    2708 papers, 1433 words (1 where a word occurs, 49216 ones), 7 classes. 5429 citations, no self-citation, none
    given twice; 151 pairs cite each other, which leaves 5278 distinct pairs. 81 % of the citations stay within
    a class: read as "same class", about every fifth link is wrong.

    Parameters
    ----------
    return_X_y, as_frame : bool, default=False
        Return ``(data, target)``, without the edges, instead of a Bunch; give them as a pandas DataFrame with sparse
        columns and a Series.

    Returns
    -------
    Bunch with ``data`` (a CSR array, 2708 x 1433), ``target``, ``edges`` (5429 x 2, rows ``(citing, cited)`` of row
    indices), ``paper_ids``, ``frame``, ``feature_names``, ``target_names``, ``DESCR``, ``filename``; or
    ``(data, target)``.

    References
    ----------
    Sen, Namata, Bilgic, Getoor, Gallagher, Eliassi-Rad (2008). Collective classification in network data.
    AI Magazine 29(3), 93-106.

    Examples
    --------
    >>> from kernelwise.datasets import load_cora
    >>> cora = load_cora()
    >>> cora.data.shape, cora.edges.shape
    ((2708, 1433), (5429, 2))
    >>> citing, cited = cora.edges.T
    >>> float((cora.target[citing] == cora.target[cited]).mean().round(3))
    0.814
    """
    return load("cora", return_X_y=return_X_y, as_frame=as_frame, n_words=1433)


def load_citeseer(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Citeseer: computer-science papers, their words and their citations.

    3312 papers, 3703 words (1 where a word occurs, 105165 ones), 6 classes. 4591 citations without self-citations;
    55 pairs cite each other, which leaves 4536 distinct pairs. 48 papers have no link at all. 74 % of the
    citations stay within a class.

    The direction of a citation is not known here: every row of ``edges`` is ``(smaller index, larger index)``, and
    a pair that cites each other appears twice. 15 papers that are cited but have no words are left out.

    Parameters
    ----------
    return_X_y, as_frame : bool, default=False
        Return ``(data, target)``, without the edges, instead of a Bunch; give them as a pandas DataFrame with sparse
        columns and a Series.

    Returns
    -------
    Bunch with ``data`` (a CSR array, 3312 x 3703), ``target``, ``edges`` (4591 x 2), ``frame``, ``feature_names``,
    ``target_names``, ``DESCR``, ``filename``; or ``(data, target)``.

    References
    ----------
    Sen, Namata, Bilgic, Getoor, Gallagher, Eliassi-Rad (2008). Collective classification in network data.
    AI Magazine 29(3), 93-106.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise.datasets import load_citeseer
    >>> citeseer = load_citeseer()
    >>> citeseer.data.shape, citeseer.edges.shape, len(np.unique(citeseer.edges, axis=0))
    ((3312, 3703), (4591, 2), 4536)
    """
    return load("citeseer", return_X_y=return_X_y, as_frame=as_frame, n_words=3703)
