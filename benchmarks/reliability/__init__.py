"""What the package does when it is killed, when the disk is full, when it has company, and when it runs for long.

``python -m benchmarks.reliability kills | disk | company | soak``; the results are in ``results/``.
"""
