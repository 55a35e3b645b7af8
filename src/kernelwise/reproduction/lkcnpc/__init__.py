"""Learning kernel combination from noisy pairwise constraints: ``table2.py`` is Table 2, ``figure1.py`` is Figure 1."""
