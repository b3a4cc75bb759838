"""Judgements, clicks, preferences and ratings of users."""
