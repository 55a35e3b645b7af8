"""Views: models that score every sample without having seen its label.

``diverse_kernels.py`` chooses the kernels. ``ridge.py`` fits one kernel and leaves each sample out in closed form.
``logistic.py`` sees linear effects and sparse text, and ``forest.py`` fits problems that kernels do not solve well.
``pool.py`` mixes all views by what they say of labels that they did not see.
"""
