"""How long, how large and how many: one number for the pages, the API, the files that come in and the store."""

from __future__ import annotations

MAX_QUERY = 1_000  # characters
MAX_DOCID = 1_000
MAX_NAME = 100  # of a user or a trained ranker
MAX_BASE = 200  # of a base ranker, which may be a column of a file
MAX_GRADE = 30  # 2**grade is the gain of NDCG
MAX_K = 200  # documents that are found and refined
MAX_DOCS, MAX_FEATURES = 1_000, 1_000  # of a list that is sent to be refined
MAX_NUMBERS = 200_000  # in its features, all in all
LARGEST = 1e30  # of features and scores, so that sums of their squares stay finite
MAX_IMPORT = 4_000_000  # characters
MAX_ID = 2**63 - 1  # of a row in the store
