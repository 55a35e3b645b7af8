"""
How wrong labels change kernel weights
======================================

In this example 0, 20 and 40 % of the labels of the ionosphere data are flipped. The figure compares the weights that
L1-MKL gives to its kernels: kernels of single features matter without noise, and lose their weight with more noise.
"""

# %%
# The kernels are Gaussians of ten widths, on all features together and on each feature alone.

import matplotlib.pyplot as plt
import numpy as np

from kernelwise import SimpleMKLClassifier, flip_labels
from kernelwise.datasets import load_ionosphere

X, y = load_ionosphere(return_X_y=True)
rates = (0.0, 0.2, 0.4)
models = [SimpleMKLClassifier(alpha=0.01).fit(X, flip_labels(y, rate, random_state=0)) for rate in rates]

# %%
# Every model has a certificate: a bound on the distance between its objective and the optimum.

for rate, model in zip(rates, models, strict=True):
    used, gap = np.count_nonzero(model.kernel_weights_), model.relative_gap_
    print(f"{rate:.0%} wrong: {used} kernels, relative gap {gap:.0e}")

# %%
figure, axes = plt.subplots(len(rates), sharex=True, sharey=True, figsize=(4.5, 3.2), layout="constrained")
for ax, rate, model in zip(axes, rates, models, strict=True):
    ax.vlines(np.arange(len(model.kernel_weights_)), 0, model.kernel_weights_, color="#0072B2")
    ax.set_title(f"{rate:.0%} of the labels wrong", loc="left", fontsize=10)
axes[-1].set_xlabel("kernel")
figure.supylabel("weight")
plt.show()
