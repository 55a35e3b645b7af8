"""The classes of all pairs, from a similarity between samples and a few known pairs: the TPCMC paper.

Read in this order:

1. ``completer.py``: :class:`PairCompleter`, the classes of all pairs; ``clustering.py``: clusters of its result.
2. ``basis.py``: from a similarity to its leading eigenvectors.
3. ``core.py``, ``core_fit.py``: from known pairs to the core matrix. ``held_out.py``: the number of
   eigenvectors, probabilities, and classes instead of a core where pairs are wrong in part.
4. ``matrix/``: completion by the nuclear norm; ``matrix/complete.py`` has :func:`complete_matrix`.
5. ``plan.py``: how many pairs to label; ``on_dask.py``: similarities on the workers of a Dask cluster.
"""
