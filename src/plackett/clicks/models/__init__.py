"""Click models: examination, attractiveness and satisfaction, estimated from a click log."""
