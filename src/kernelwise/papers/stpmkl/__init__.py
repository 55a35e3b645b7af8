"""Multiple kernel learning from noisy labels by stochastic programming (ICML 2012).

``figure1_accuracy.py`` is Figure 1, left, and the same comparison with tuned baselines; ``figure1_convergence.py`` is
Figure 1, right. ``paths.py`` chooses penalties and budgets, ``tuned_baselines.py`` has the other methods, and
``theory.py`` has the theorems as functions. The solvers of the paper are ``mirror_prox.py`` and
``variational_inequality.py``, with ``saddle.py``; ``kernelwise.mkl`` has a quicker one.
"""
