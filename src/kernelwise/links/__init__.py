"""Clustering of documents that have words and links; some of the links are misleading.

Read in this order:

1. ``smoothing.py``: :class:`LinkSmoother`, features averaged over links.
2. ``depth_weights.py``: the weights of several depths of smoothing, learned from the links.
3. ``clustering.py``: :class:`LinkedClustering`, clusters of smoothed features.
4. ``candidates.py``: ways to place documents, among them by ``walks.py``, random walks over the links; ``choice.py``:
   which of them predicts what was left out.
5. ``words.py``: rows of word counts; ``on_dask.py``: links and words on the workers of a Dask cluster.
"""
