"""Views: models that score every sample without having seen its label.

``diverse_kernels.py`` chooses the kernels. ``ridge.py`` fits one kernel and leaves each sample out in closed form.
``forest.py`` and ``margins.py`` are views for problems that kernels do not solve well. ``pool.py`` weighs all views by
their losses out of sample.
"""
