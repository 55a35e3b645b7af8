"""The bundled citation networks: papers with binary word attributes, a class, and links between them."""

import numpy as np
from scipy.sparse import csr_array

from ._bunch import Dataset, check_flags, pack, read_arrays


def _load_network(name: str, n_words: int, *, return_X_y: bool, as_frame: bool) -> Dataset:
    check_flags(return_X_y=return_X_y, as_frame=as_frame)
    stored = read_arrays(name)
    n_papers = len(stored["y"])
    # Only the positions of the ones are stored, in the smallest type; scikit-learn wants int32.
    parts = (np.ones(len(stored["indices"])), stored["indices"].astype(np.int32), stored["indptr"])
    extra = {"paper_ids": stored["paper_ids"].astype(np.int64)} if "paper_ids" in stored else {}
    return pack(
        name,
        csr_array(parts, shape=(n_papers, n_words)),
        stored["y"],
        feature_names=[f"word_{word:04d}" for word in range(n_words)],
        target_names=stored["target_names"].tolist(),
        return_X_y=return_X_y,
        as_frame=as_frame,
        edges=stored["edges"].astype(np.int64),
        filename=f"{name}.npz",
        **extra,
    )


def load_cora(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Cora: machine-learning papers, their words and their citations.

    2708 papers, 1433 words (1 where a word occurs, 49216 ones), 7 classes. 5429 citations, no self-citation, none
    given twice; 151 pairs cite each other, which leaves 5278 distinct pairs. 81 % of the citations stay within
    a class: read as "same class", about every fifth link is wrong.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch; the edges are not among them.
    as_frame : bool, default=False
        Give data as a pandas DataFrame with sparse columns and the target as a Series.

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
    return _load_network("cora", 1433, return_X_y=return_X_y, as_frame=as_frame)


def load_citeseer(*, return_X_y: bool = False, as_frame: bool = False) -> Dataset:
    """Load Citeseer: computer-science papers, their words and their citations.

    3312 papers, 3703 words (1 where a word occurs, 105165 ones), 6 classes. 4591 citations without self-citations;
    55 pairs cite each other, which leaves 4536 distinct pairs. 48 papers have no link at all. 74 % of the
    citations stay within a class.

    The direction of a citation is not known here: every row of ``edges`` is ``(smaller index, larger index)``, and
    a pair that cites each other appears twice. 15 papers that are cited but have no words are left out.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch; the edges are not among them.
    as_frame : bool, default=False
        Give data as a pandas DataFrame with sparse columns and the target as a Series.

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
    return _load_network("citeseer", 3703, return_X_y=return_X_y, as_frame=as_frame)
