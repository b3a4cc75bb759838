"""Parts of ``plackett train``."""
