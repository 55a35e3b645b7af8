"""The solvers of the StPMKL paper, for reproduction and comparison.

``mirror_prox.py`` is Algorithm 1 of the paper and ``variational_inequality.py`` the method that the paper compares
Algorithm 1 with. Both share ``saddle.py`` and ``function_space.py``. They can be chosen by ``solver=``, but the
default, column generation, is faster by orders of magnitude.
"""
