"""Personality diagnosis and recommendation."""
