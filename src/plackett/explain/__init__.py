"""Explanations of scores: what each feature adds to the score of a document, and to its lead over another."""
