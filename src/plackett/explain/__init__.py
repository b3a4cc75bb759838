"""Explanations of scores: additive, by step, by query and after a refinement."""
