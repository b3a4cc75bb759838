"""The workbench: see a ranking, judge it, watch it improve. Clicks become rows; the arithmetic is in other rooms."""
