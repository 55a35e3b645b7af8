"""Learning from pairs of samples that are given as sharing a class or not; some of the pairs are wrong.

Read in this order:

1. ``problem.py``: problem (7) of the LKCnpc paper; ``statistics.py``: the statistic of the problem from noisy pairs.
2. ``learner.py``: :class:`PairKernelLearner`, the weights of kernels learned from pairs.
3. ``clustering.py``: :class:`PairKernelClustering`, spectral clustering of a learned kernel.
4. ``classes/``: a model of classes for features and pairs of unknown noise; ``noisy_clustering.py``:
   :class:`NoisyPairClustering`, the estimator of this model, and the one to use.
5. ``audit/``: :func:`audit_pairs`, which finds wrong pairs and estimates their number.
6. ``on_dask.py``: pairs and samples on the workers of a Dask cluster.
"""
