"""Which pairs are wrong, and how many.

``wrong_pairs.py`` has :func:`audit_pairs`, which finds out what kind of pairs it has. ``judgements.py`` judges pairs
that speak of classes, and links: by ``views.py``, which scores links by clusters of smoothed features, and by
``hidden_classes.py``, a model in which pairs of one class are given more often, as links are.
"""
