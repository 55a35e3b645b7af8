"""Completion of a matrix from some of its entries by the nuclear norm.

``problem.py`` has the problem and its dual, ``factors.py`` the solver, ``observed.py`` the sparse matrix of observed
entries, and ``complete.py`` the function for users with the checks of its arguments.
"""
