"""A similarity between samples and the truth of a few pairs: the TPCMC paper.

Read in this order:

1. ``completer.py``: :class:`PairCompleter`, the classes of all pairs; ``clustering.py`` clusters with it.
2. ``basis.py`` and ``similarity.py``: from a similarity to its leading eigenvectors.
3. ``known_block.py``, ``core.py``, ``core_fit.py``, ``components.py``: from known pairs to the core matrix.
4. ``block_completion.py`` and ``matrix/``: completion by the nuclear norm; ``matrix/complete.py`` has
   :func:`complete_matrix`.
5. ``row_refinement.py``, ``entries.py``: rows and entries of the result; ``plan.py`` and ``theory.py``: how many pairs
   to label; ``on_cluster.py``: similarities on the workers of a Dask cluster.
"""
