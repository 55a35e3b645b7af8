"""Which pairs are wrong, and how many, with nothing checked.

``wrong_pairs.py`` has :func:`audit_pairs`. ``hidden_classes.py`` finds classes behind pairs by how pairs contradict
each other, ``views.py`` scores pairs by features and by other pairs, and ``chances.py`` turns scores into chances.
"""
