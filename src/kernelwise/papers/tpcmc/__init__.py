"""Transductive pairwise classification from pairwise similarities (NIPS 2014).

``figure1.py`` is Section 5.1 with Figure 1, ``figures2to4.py`` is Figures 2 to 4 with Table 1.
``constrained_spectral.py`` and ``dense_completion.py`` are what the paper compares with.
"""
