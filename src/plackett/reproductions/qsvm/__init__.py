"""Query-dependent ranking (dai2019): its printed tables, its simulations, and our results."""
