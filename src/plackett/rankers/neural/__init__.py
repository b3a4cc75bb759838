"""Neural networks with listwise and pairwise losses."""
