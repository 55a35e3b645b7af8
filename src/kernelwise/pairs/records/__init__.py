"""Record pairs."""
