"""Per-query tables of measures: the honest side of ranking."""
