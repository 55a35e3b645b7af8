"""Figures of fitted models and audits, which work as the displays of scikit-learn do.

A display holds the numbers; ``plot`` draws them with matplotlib (``pip install kernelwise[report]``) and can be called
again with other axes. The ``from_...`` constructors compute the numbers and draw at once.
"""
