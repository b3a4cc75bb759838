"""Rankers: scikit-learn estimators that connect losses, scorers and solvers, in families."""
