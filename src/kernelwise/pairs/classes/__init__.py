"""Classes of samples from features and from pairs of unknown noise: one model for clusters, rates and pairs.

Read in this order:

1. ``evidence.py``: what pairs tell of classes, by belief propagation, and how often pairs are wrong.
2. ``features.py``: what features tell of classes, by ridge regression that leaves out the sample itself, and starts.
3. ``search.py``: classes and rates by turns from every start, the best fit, and whether the pairs help.
4. ``results.py``: the number of classes, averages over the likely numbers, intervals and words.
5. ``from_sample.py``: classes of many samples, learned from some of them and predicted for all.
"""
