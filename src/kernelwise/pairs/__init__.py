"""Pairs of samples that are said to share a class or not, of which some are wrong.

Read in this order:

1. ``problem.py``: problem (7) of the LKCnpc paper; ``statistics.py`` estimates what it needs from noisy pairs.
2. ``learner.py``: :class:`PairKernelLearner`, the weights of kernels learned from pairs.
3. ``clustering.py``: :class:`PairKernelClustering`, spectral clustering of a learned kernel.
4. ``audit/``: :func:`audit_pairs`, which pairs are wrong and how many.
5. ``on_cluster.py``: pairs and samples on the workers of a Dask cluster.
"""
