"""Counterfactual evaluation: the value of a new ranking, estimated from the clicks on another one."""
