"""Files: names, compression, atomic writes and checksums."""
