"""Objectives over partitioned data, in one process or on a cluster."""
