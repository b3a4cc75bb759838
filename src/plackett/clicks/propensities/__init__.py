"""Propensities: how much less often each rank is examined than the first, estimated from a click log."""
