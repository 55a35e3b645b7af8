"""Base models that score every row without having seen its label.

``kernel_scores.py`` chooses kernels and fits each by ridge regression, which leaves each row out in closed form.
``logistic.py`` sees linear effects and sparse text, and brings scores of all models to one scale. ``forest.py`` fits
problems that kernels do not solve well. ``pool.py`` mixes all base models by what they say of labels that they did not
see. ``rows.py`` finds groups of rows that are left out together, copies, and rows that are far from all others.
"""
