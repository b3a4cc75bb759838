"""Rankers with kernels."""
