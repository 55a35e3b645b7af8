"""
A certificate for every answer
==============================

Every solver computes two bounds, dual <= optimum <= primal, and stops when the bounds are close enough. The difference
of the bounds limits the distance between the answer and the optimum, also when the solver was stopped early.
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
# The figure shows the two bounds at each iteration of the column generation.

figure, ax = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
history = model.history_[0]  # one problem for two classes
ax.plot([row.iteration for row in history], [row.primal for row in history], "o-", label="primal")
ax.plot([row.iteration for row in history], [row.dual for row in history], "s--", label="dual")
ax.set(xlabel="iteration", ylabel="bounds of the optimum")
ax.locator_params(axis="x", integer=True)
ax.legend(frameon=False)
plt.show()

# %%
# The gap between the bounds, on a logarithmic scale:

ConvergenceDisplay.from_estimator(model)
plt.show()

# %%
# The model uses few of the 350 kernels.

KernelWeightsDisplay.from_estimator(model, max_kernels=10)
plt.show()
