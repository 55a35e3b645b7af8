"""
How many suspects are worth a look
==================================

A fifth of the labels of the Australian credit data is made wrong. An audit ranks all labels, the most suspect
first. How far down the list does checking pay?
"""

# %%
# The audit sees the noisy labels alone. Its ranking comes with a chance for each label to be right.

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
# How the chances are spread. The labels in orange are worth checking: of these, half or more should be wrong.

ScoreDistributionDisplay.from_audit(audit)
plt.show()

# %%
# Here the truth is known, so that we can tell. Any classifier can rank labels by probabilities from
# cross-validation; a logistic regression is drawn for comparison. The dotted line is what looking at labels in no
# particular order would find. The diamond is what the audit promises, half of the labels wrong, where it says to
# stop.

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
axes[0].axhline(wrong.mean(), color="black", linestyle=":", label="in no particular order")
axes[1].plot([0, 1], [0, 1], color="black", linestyle=":")
axes[0].plot(audit.worth_checking() / len(y), 0.5, "D", color="#D55E00", label="worth checking, as the audit says")
axes[0].set(xlabel="share of the labels reviewed", ylabel="share of these that are wrong", ylim=(0, 1.02))
axes[1].set(xlabel="share of the labels reviewed", ylabel="share of the wrong ones found", ylim=(0, 1.02))
axes[0].legend(frameon=False, fontsize=8)
plt.show()
