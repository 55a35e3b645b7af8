"""Several kernels combined by a classifier, as in the StPMKL paper, with labels of which some are wrong.

Read in this order:

1. ``problem.py``: problem (2) and problem (11) of the paper, with the dual and the certificate.
2. ``column_generation.py``: the default solver. The solvers of the paper, which are kept for its reproduction, are in
   ``kernelwise/papers/stpmkl``.
3. ``classifiers.py``: :class:`SimpleMKLClassifier` and :class:`RobustMKLClassifier`; ``base.py`` has the ``fit`` that
   all classifiers share and the list of solvers, ``training.py`` prepares the samples and the kernels.
4. ``best_case.py``: :class:`BestCaseMKLClassifier`; ``paths.py``: whole paths of penalties with cross-validation.
5. ``calibration.py``: probabilities; ``checkpoint.py``: a fit that survives its process; ``on_dask.py``: the same
   training set on the workers of a Dask cluster.
"""
