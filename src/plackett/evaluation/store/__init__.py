"""Finished settings on disk, so that an interrupted comparison can resume."""
