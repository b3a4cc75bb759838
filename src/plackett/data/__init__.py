"""Judged lists: reading, grouping, describing and preprocessing; everything ends in a ``Queries``."""
