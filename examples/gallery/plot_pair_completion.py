"""
All pairs from a few known pairs
================================

A similarity compares 500 images of digits roughly. For one pair in sixty somebody knows whether both images show the
same digit. :class:`~kernelwise.PairCompleter` predicts the answer for all other pairs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

from kernelwise import PairCompleter, Pairs, plan_labelling
from kernelwise.report import LabelMatrixDisplay

images, digits = (part[:500] for part in load_digits(return_X_y=True))
similarity = rbf_kernel(images / 16, gamma=0.2)
known = Pairs.from_labels(digits, n_pairs=2000, random_state=0)
model = PairCompleter(n_components=30, random_state=0).fit(similarity, pairs=known)

# %%
# The figure shows the similarity, the known pairs and the result. The rows are ordered by digit to make the structure
# visible; the method does not know the digits.

# sphinx_gallery_thumbnail_path = 'images/card-known-pairs.png'
seen = np.zeros(similarity.shape)
seen[known.rows, known.cols] = seen[known.cols, known.rows] = known.labels
figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
LabelMatrixDisplay(similarity, labels=digits).plot(axes[0])
LabelMatrixDisplay(seen, labels=digits).plot(axes[1])
LabelMatrixDisplay(np.clip(model.label_matrix(), -1, 1), labels=digits).plot(axes[2])
for ax, title in zip(axes, ("similarity", "known pairs", "completed"), strict=True):
    ax.set_title(title, loc="left")
plt.show()

# %%
# How many answers are right? Nine pairs in ten show different digits, so we average the accuracy on pairs of the same
# digit and the accuracy on pairs of different digits. For comparison we use the similarity alone, with its best
# threshold.

rows, cols = np.triu_indices(len(digits), k=1)
same = digits[rows] == digits[cols]


def balanced(answers):
    """The mean of the accuracy on pairs of the same digit and the accuracy on pairs of different digits."""
    return (answers[same].mean() + (~answers[~same]).mean()) / 2


completed = balanced(model.predict_pairs(rows, cols) > 0)
best = max(balanced(similarity[rows, cols] > threshold) for threshold in np.linspace(0, 1, 51))
print(f"completed {completed:.1%}, similarity alone {best:.1%}; coherence of the basis {model.coherence_:.2f}")

# %%
# How many pairs should be known? :func:`~kernelwise.plan_labelling` simulates classes that are clusters of the
# similarity, and tries several numbers of pairs. The plan needs no labels, but true classes may be easier or harder to
# find than the simulated classes.

sizes = (60, 120, 240)
completer = PairCompleter(n_components=30)
plan = plan_labelling(similarity, 10, completer=completer, n_labelled=sizes, n_repeats=1, random_state=0)
figure, ax = plt.subplots(layout="constrained")
for size, marker in zip(sizes, "os^", strict=True):
    tried = [row for row in plan.rows if row["n_labelled"] == size]
    pairs, accuracy = zip(*((row["n_pairs"], row["accuracy"]) for row in tried), strict=True)
    ax.semilogx(pairs, accuracy, marker + "-", label=f"pairs among {size} examples")
ax.set(xlabel="pairs to label", ylabel="mean accuracy on both kinds of pairs")
ax.legend(frameon=False)
plt.show()
