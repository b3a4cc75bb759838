"""Text documents and test collections."""
