"""
Accuracy when more labels are wrong
===================================

In this example training labels of the breast cancer data are flipped at several rates, and the accuracy is measured on
correct labels. Both classifiers use their default parameters. A fair comparison would tune the parameters of both.
"""

# %%
# :class:`~kernelwise.NoisyLabelClassifier` does not know how many labels are wrong. The bands are one standard error of
# three folds, which is wide: one data set shows how a method behaves, and cannot show which method is better.

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
figure, ax = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
NoiseCurveDisplay.from_estimator(methods, X, y, rates=(0.0, 0.2, 0.4), cv=3, random_state=0, ax=ax)
plt.show()
