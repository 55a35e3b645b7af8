"""
A certificate, not a hope
=========================

Every solver keeps two bounds, dual <= optimum <= primal, and stops where they are close enough. Their difference
says how far the answer is from the optimum at most, whoever made it and however early it was stopped.
"""

import matplotlib.pyplot as plt

from kernelwise import SimpleMKLClassifier, flip_labels
from kernelwise.datasets import load_ionosphere
from kernelwise.report import ConvergenceDisplay, KernelWeightsDisplay

X, y = load_ionosphere(return_X_y=True)
y = flip_labels(y, 0.2, random_state=0)
model = SimpleMKLClassifier(alpha=0.01, tol=1e-6).fit(X, y)
print(f"objective {model.objective_:.6f}, at most {model.dual_gap_:.1e} above the optimum")

# %%
# The bounds, by iteration of the column generation, and the gap between them on a logarithmic scale.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
history = model.history_[0]  # one problem for two classes
axes[0].plot([row.iteration for row in history], [row.primal for row in history], "o-", label="primal")
axes[0].plot([row.iteration for row in history], [row.dual for row in history], "s--", label="dual")
axes[0].set(xlabel="iteration", ylabel="bounds of the optimum")
axes[0].locator_params(axis="x", integer=True)
axes[0].legend(frameon=False)
ConvergenceDisplay.from_estimator(model, ax=axes[1])
plt.show()

# %%
# Few of the 350 kernels are used.

KernelWeightsDisplay.from_estimator(model, max_kernels=10)
plt.show()
