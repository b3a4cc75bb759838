"""The objective that solvers minimise: the mean loss over queries plus a penalty."""
