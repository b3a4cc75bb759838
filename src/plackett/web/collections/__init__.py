"""Document collections: base rankers, features and texts of what can be searched."""
