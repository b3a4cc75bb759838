"""Losses in PyTorch, on accelerators, and as objectives of boosted trees."""
