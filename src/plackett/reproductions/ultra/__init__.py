"""The simulation of the field for learning from clicks: production rankers, users, corrections, packages, skylines."""
