"""
Accuracy as more labels are wrong
=================================

Training labels of the breast cancer data are flipped at growing rates, and accuracy is measured on labels that are
right. What a tuned classifier does with noise is the comparison that counts; here both are taken as they come.
"""

# %%
# :class:`~kernelwise.NoisyLabelClassifier` is not told how many labels are wrong. Bands are one standard error of
# three folds, which is wide: one data set shows what a method does, not which one is better.

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelwise import NoisyLabelClassifier
from kernelwise.datasets import load_breast_cancer
from kernelwise.report import NoiseCurveDisplay

X, y = load_breast_cancer(return_X_y=True)
methods = {
    "NoisyLabelClassifier": NoisyLabelClassifier(random_state=0),
    "SVC, defaults": make_pipeline(StandardScaler(), SVC()),
}
NoiseCurveDisplay.from_estimator(methods, X, y, rates=(0.0, 0.2, 0.4), cv=3, random_state=0)
plt.show()
