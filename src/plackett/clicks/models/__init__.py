"""Click models: what the users of a log looked at, what attracts them and what satisfies them."""
