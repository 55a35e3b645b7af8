"""Learning kernel combination from noisy pairwise constraints.

``table2.py`` is Table 2 and ``figure1.py`` is Figure 1. The methods that the paper
compares with have a file each: ``uniform_kernel.py``, ``spectral_kernel.py`` (SKL), ``nonparametric_kernel.py`` (NPK,
with ``kernel_matrix_problem.py``), ``mmc.py`` and ``itml.py`` (metrics), ``mpckmeans.py`` (with
``mpckmeans_problem.py``) and ``transitive_closure.py``; ``base.py`` has what these methods share.
"""
