"""Fusion of runs: by fixed rules, or with weights that are learned from judgements."""
