"""
How many suspects are worth checking
====================================

In this example a fifth of the labels of the Australian credit data is made wrong. An audit ranks all labels, the most
suspect label first. How many labels of the ranking are worth checking?
"""

# %%
# The audit sees only the noisy labels. The audit gives each label a quality: the probability that the label is right.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelwise import audit_labels, flip_labels
from kernelwise.datasets import load_australian
from kernelwise.report import ScoreDistributionDisplay

X, truth = load_australian(return_X_y=True)
y = flip_labels(truth, 0.2, random_state=0)
audit = audit_labels(X, y, random_state=0)
print(audit)

# %%
# The figure shows the distribution of the qualities. The labels in orange are worth checking: each of them is more
# likely wrong than right.

figure, ax = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
ScoreDistributionDisplay.from_audit(audit, ax=ax)
plt.show()

# %%
# In this example the truth is known, so we can check the ranking. Any classifier can rank labels by probabilities from
# cross-validation; the figure shows a logistic regression for comparison. The dotted line is the result of checking
# labels in random order. The diamond is the promise of the audit: the share of wrong labels that the audit expects if
# checking stops after the last label that is more likely wrong than right.

logistic = make_pipeline(StandardScaler(), LogisticRegression())
orders = {
    "audit_labels(X, y)": audit.order,
    "audit_labels(X, y, estimator=LogisticRegression())": audit_labels(X, y, estimator=logistic, random_state=0).order,
}
wrong, reviewed = y != truth, np.arange(1, len(y) + 1)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharex=True)
for (name, order), style in zip(orders.items(), ("-", "--"), strict=True):
    found = wrong[order].cumsum()
    axes[0].plot(reviewed / len(y), found / reviewed, style, label=name)
    axes[1].plot(reviewed / len(y), found / wrong.sum(), style)
axes[0].axhline(wrong.mean(), color="black", linestyle=":", label="random order")
axes[1].plot([0, 1], [0, 1], color="black", linestyle=":")
worth = audit.worth_checking()
promise = np.mean(1 - audit.quality[audit.order[:worth]])
axes[0].plot(worth / len(y), promise, "D", color="#D55E00", label="promise of the audit")
axes[0].set(xlabel="share of the labels reviewed", ylabel="share of the reviewed labels that are wrong", ylim=(0, 1.02))
axes[1].set(xlabel="share of the labels reviewed", ylabel="share of the wrong labels found", ylim=(0, 1.02))
axes[0].legend(frameon=False, fontsize=8)
plt.show()
