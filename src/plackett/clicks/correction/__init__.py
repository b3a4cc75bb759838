"""Correction: relevance of pairs estimated from their clicks, as labels that rankers train on."""
