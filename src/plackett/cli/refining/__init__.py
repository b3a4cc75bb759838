"""Parts of ``plackett refine``."""
