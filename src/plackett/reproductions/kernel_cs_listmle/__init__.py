"""Kernelised cost-sensitive listwise ranking (olinto2016): its code, its protocols, and our results."""
