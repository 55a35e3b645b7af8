"""
Which citations are suspect
===========================

Papers of the Cora collection cite each other; 19 % of the citations join papers of different topics. An audit ranks the
citations by the words of the papers and by all other citations. The audit does not see the topics.
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
# In this example a citation is called wrong if it joins two topics. People chose the topics, and a citation between two
# topics may be a good citation. The ranking shows where words and links disagree; at its top, about six of ten
# citations join two topics.

wrong = citations.true_labels(papers.target) != citations.labels
reviewed = np.arange(1, len(citations) + 1)
figure, ax = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
ax.plot(reviewed, wrong[audit.order].cumsum() / reviewed, label="most suspect first")
ax.axhline(wrong.mean(), color="black", linestyle=":", label="random order")
ax.set(
    xlabel="citations reviewed",
    ylabel="share that joins two topics",
    xlim=(20, len(citations)),
    ylim=(0, 1),
)
ax.legend(frameon=False)
plt.show()

# %%
# The topics can be found from words and links, although some links are wrong. The figure shows two of forty coordinates
# of the embedding.

model = LinkedClustering(n_clusters=7, random_state=0).fit(papers.data, links=citations)
EmbeddingDisplay.from_estimator(model, labels=papers.target_names[papers.target])
plt.show()
