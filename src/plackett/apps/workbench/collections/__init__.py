"""Document collections: base rankers, features and texts."""
