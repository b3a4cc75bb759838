"""Scores of lists without scikit-learn: what a fitted ranker computes, as arrays."""
