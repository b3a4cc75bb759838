"""Tables, plots and an HTML page of a comparison."""
