"""Files, rows and ids: everything that ends in a ``Queries``."""
