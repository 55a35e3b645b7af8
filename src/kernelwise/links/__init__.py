"""Documents that have words and links, of which some links mislead.

Read in this order:

1. ``smoothing.py``: :class:`LinkSmoother`, features averaged over links.
2. ``depth_weights.py``: how much each depth of smoothing counts, learned from the links.
3. ``clustering.py``: :class:`LinkedClustering`, clusters of smoothed features.
4. ``words.py``: rows of word counts; ``on_cluster.py``: links and words on the workers of a Dask cluster.
"""
