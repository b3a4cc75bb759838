"""Describing judged lists: sizes, labels, columns, and what to look at before a fit."""
