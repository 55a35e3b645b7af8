"""Labels of which some are wrong, and nobody knows how many.

The package estimates how many labels are wrong, lists the suspect ones, and learns a classifier in spite of them. Read
in this order:

1. ``classifier.py``: :class:`NoisyLabelClassifier`. Its ``fit`` is the whole method on one screen.
2. ``views/``: scores from kernels, forests and logistic regression, by models that did not see the label;
   ``softmax.py`` brings them to one scale.
3. ``noise_model/``: from scores and given labels to noise rates, and to the chance that each label is wrong.
4. ``verdict.py``: what may be said of the share of wrong labels, and why.
5. ``audit.py``: :func:`audit_labels` and :func:`estimate_label_noise`, for users who want no classifier.
6. ``sample.py``, ``blocks.py``, ``large.py``: more rows than are learned from; ``on_cluster.py``: rows on a Dask
   cluster.
"""
