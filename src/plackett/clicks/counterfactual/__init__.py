"""Counterfactual evaluation: what a new ranking would be worth, estimated from the clicks on another one."""
