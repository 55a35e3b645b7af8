"""Views: models that score every sample without having seen its label.

``diverse_kernels.py`` chooses the kernels, ``ridge.py`` fits one kernel and leaves each sample out in closed form,
``forest.py`` and ``margins.py`` add what kernels miss, and ``pool.py`` weighs all views by what they say out of sample.
"""
