"""The workbench: search a collection, judge results, and refine the ranking, over HTTP."""
