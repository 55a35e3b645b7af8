"""Completion of a matrix from some of its entries by the nuclear norm.

``problem.py`` has the problem and its dual, with the sparse matrix of observed entries, ``factors.py`` the solver, and
``complete.py`` the function for users with the checks of its arguments.
"""
