"""Scorers: from features and coefficients to scores, and from slopes back to a gradient."""
