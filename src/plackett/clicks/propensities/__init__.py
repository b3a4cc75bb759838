"""Propensities: how much less each rank is looked at than the first, estimated from a click log."""
