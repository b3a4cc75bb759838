"""Reading click logs: lines and columns, shown lists and clicks, and the cleaning of damaged ones."""
