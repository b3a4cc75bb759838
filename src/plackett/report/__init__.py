"""From a comparison to what people read: tables in four formats, plots, and one self-contained page."""
