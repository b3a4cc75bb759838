"""Query-dependent rankers: a model for each query (Dai and Wang 2019)."""
