"""Labels of which some are wrong, and nobody knows how many.

The package estimates how many labels are wrong, lists the suspect ones, and learns a classifier in spite of them. Read
in this order:

1. ``classifier.py``: :class:`NoisyLabelClassifier`. ``fit`` chooses between all rows in memory, a sample of the rows,
   and a Dask cluster; ``_learn`` is the method. The engine does the work: ``kernelwise/scoring`` scores rows by models
   that did not see their labels, ``kernelwise/noise`` turns scores and given labels into noise rates and chances, and
   ``kernelwise/review`` says what may be said of them.
2. ``audit.py``: :func:`audit_labels` and :func:`estimate_label_noise`, for users who want no classifier.
3. ``given.py``: what users give: labels, labels that are amounts, columns that repeat the label. ``spellings.py``:
   labels as people write them.
4. ``describe.py``: how often the classifier is right, which columns matter, and where suspects are.
5. ``sample.py``, ``large.py``: more rows than are learned from; ``on_dask.py``: rows on a Dask cluster.
"""
