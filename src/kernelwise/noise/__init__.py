"""The noise model: given labels are true labels seen through random errors.

``two_classes.py`` integrates over noise rates for two classes and ``posterior.py`` for more. ``explanations.py``
averages over two explanations of doubtful labels: classes that overlap, and errors near the boundary between classes.
"""
