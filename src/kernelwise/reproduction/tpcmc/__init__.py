"""Transductive pairwise classification from pairwise similarities (NIPS 2014).

``figure1.py`` is Section 5.1 with Figure 1, ``figures2to4.py`` is Figures 2 to 4 with Table 1.
"""
