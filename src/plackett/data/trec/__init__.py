"""Judgements (qrels) and runs in the formats of TREC."""
