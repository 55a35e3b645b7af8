"""Arrays in row blocks on the workers of a Dask cluster.

Each task has one file ``on_dask.py`` that uses this package, and each estimator has one line that chooses
between memory and cluster. Other modules of kernelwise do not use Dask. Read in this order:

1. ``kernelwise/samples.py``: the few operations that solvers need of arrays, in memory and in blocks alike.
2. ``block_array.py``: :class:`BlockArray`, an array that is cut along its rows. It remembers an expression and
   evaluates the expression block by block (``expressions.py``) on the workers (``engine.py``).
3. ``collections.py``: from Dask arrays and frames to block arrays. ``lazy.py``: delayed values of Dask, and Dask arrays
   of them. ``prediction.py``: methods of fitted models on Dask collections.
4. ``bank.py`` and ``landmarks.py``: kernels over samples in blocks, as far as they fit into memory.
5. ``graph.py``: a graph of samples in blocks, and rows that travel between blocks. ``labelled_pairs.py``: pairs in
   partitions. ``k_means.py``: clusters of rows in blocks.

==============  ======================================================================================
word            meaning
==============  ======================================================================================
block           consecutive rows of an array, on one worker
handle          a block as the client sees it: a Dask future, or the block itself without a cluster
expression      a computation that a block array remembers and that is not done yet
persist         evaluate an expression and keep its blocks on the workers
delayed sum     a sum over all samples that is computed when its value is needed
part, piece     a partition of pairs or of a graph; some rows of a block, or of an array in memory
==============  ======================================================================================

Decision 8 in the documentation says why this is not ``dask.array``.
"""
