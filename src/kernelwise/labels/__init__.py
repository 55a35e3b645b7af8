"""Labels of which some are wrong, and nobody knows how many.

The package estimates how many labels are wrong, lists the suspect ones, and learns a classifier in spite of them. Read
in this order:

1. ``classifier.py``: :class:`NoisyLabelClassifier`. Its ``fit`` is the whole method on one screen.
2. ``views/``: scores from kernels, forests and margins; each sample is scored by models that did not see its label.
3. ``noise_model/``: from scores and given labels to noise rates, and to the chance that each label is wrong.
4. ``audit.py``: :func:`audit_labels` and :func:`estimate_label_noise`, for users who want no classifier.
"""
