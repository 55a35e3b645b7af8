"""The noise model: given labels are true labels seen through random errors.

``posterior.py`` integrates over noise rates for two classes and ``many_classes.py`` for more. ``fading_errors.py``
describes errors near the boundary between classes, and ``explanations.py`` averages over overlap and such errors.
"""
