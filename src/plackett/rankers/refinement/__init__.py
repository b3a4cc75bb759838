"""Refinement of an existing ranking from a few judgements: MRR, LRR and Rocchio."""
