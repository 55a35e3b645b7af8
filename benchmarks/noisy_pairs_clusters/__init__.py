"""Clusters from features and must-link / cannot-link pairs, some of them wrong: nine sets, all competitors."""
