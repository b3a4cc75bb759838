"""LETOR text files (also SVMlight, RankLib) and their cache."""
