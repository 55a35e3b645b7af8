"""Multiple kernel learning from noisy labels by stochastic programming (ICML 2012).

``figure1.py`` is Figure 1, with a second comparison in which the baselines are tuned, too. ``paths.py`` chooses
penalties and budgets, ``tuned_baselines.py`` has the other methods, and ``theory.py`` has the theorems as functions.
The solvers of the paper are in ``saddle.py``; ``kernelwise.mkl`` has a quicker one.
"""
