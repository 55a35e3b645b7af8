"""Pairs of records: "do these two describe the same thing?" Some of the answers are wrong.

Read in this order:

1. ``strings.py`` and ``features.py``: how alike two records are, in many ways (:func:`pair_features`).
2. ``transitivity.py``: what the other pairs of two records say about them.
3. ``repeated.py``: what several answers to the same pair say about their errors.
4. ``audit.py``: :func:`audit_record_pairs`, which joins features, answers and transitivity.
5. ``recognition.py``: whether pairs are pairs of records at all, or speak of classes or links.
"""
