"""Parquet files, in memory or out of core."""
