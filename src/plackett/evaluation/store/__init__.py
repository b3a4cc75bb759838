"""Finished results on disk, so that an interrupted comparison can resume."""
