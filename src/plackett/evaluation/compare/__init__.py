"""Comparison of rankers on the same folds, with significance tests."""
