"""Choice of hyperparameters on validation queries."""
