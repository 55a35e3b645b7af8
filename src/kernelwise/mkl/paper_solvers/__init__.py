"""The solvers of the StPMKL paper, and a third method of the same kind, for reproduction and comparison.

``mirror_prox.py`` is Algorithm 1 of the paper, ``variational_inequality.py`` the method that the paper compares it
with, and ``primal_dual.py`` a modern first-order method. All three share ``saddle.py`` and ``function_space.py``. They
can be chosen by ``solver=``, but the default, column generation, is faster by orders of magnitude.
"""
