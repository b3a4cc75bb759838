"""Parts of ``plackett evaluate``."""
