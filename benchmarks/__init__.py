"""The measurements behind the claims in the documentation: ``python -m benchmarks``."""
