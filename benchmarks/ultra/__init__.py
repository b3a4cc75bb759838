"""The standard simulation of learning from clicks: production rankers, users, corrections, packages, skylines."""
