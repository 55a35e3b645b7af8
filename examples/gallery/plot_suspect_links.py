"""
Which citations are suspect
===========================

Papers of the Cora collection cite each other; 19 % of the citations join papers of different topics. An audit ranks
the citations by words and by all other citations. It never sees a topic.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelwise import LinkedClustering, Pairs, audit_pairs
from kernelwise.datasets import load_cora
from kernelwise.report import EmbeddingDisplay

papers = load_cora()
citations = Pairs.from_graph(papers.edges, n_samples=len(papers.target), negatives=None)
audit = audit_pairs(papers.data, citations, random_state=0)
print(audit)

# %%
# A citation is called wrong if it joins two topics. Topics are somebody's classification, and a citation between
# them may be a good one: the list says where words and links do not agree, and is right in some six of ten cases at
# its top.

wrong = citations.true_labels(papers.target) != citations.labels
reviewed = np.arange(1, len(citations) + 1)
figure, ax = plt.subplots(layout="constrained")
ax.plot(reviewed, wrong[audit.order].cumsum() / reviewed, label="most suspect first")
ax.axhline(wrong.mean(), color="black", linestyle=":", label="in no particular order")
ax.set(
    xlabel="citations reviewed", ylabel="share of these that join two topics", xlim=(20, len(citations)), ylim=(0, 1)
)
ax.legend(frameon=False)
plt.show()

# %%
# The topics themselves can be found from words and links, wrong ones included. The picture has two of forty
# coordinates.

model = LinkedClustering(n_clusters=7, random_state=0).fit(papers.data, pairs=citations)
EmbeddingDisplay.from_estimator(model, labels=papers.target_names[papers.target])
plt.show()
