"""Interleaving: lists that mix several rankers, credit for their clicks, and a verdict that may be read at any time."""
