"""Trials of refiners: relevance feedback and recommendation."""
