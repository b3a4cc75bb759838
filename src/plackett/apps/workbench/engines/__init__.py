"""Live search engines: their settings, requests and responses, and the collection of the documents that they find."""
