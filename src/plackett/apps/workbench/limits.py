"""Limits of values, shared by the pages, the API, imported files and the store."""

from __future__ import annotations

MAX_QUERY = 1_000  # characters
MAX_DOCID = 1_000
MAX_NAME = 100  # characters in the name of a user or a trained ranker
MAX_BASE = 200  # characters in the name of a base ranker, which may be a column name
MAX_GRADE = 30  # 2**grade is the gain of NDCG
MAX_K = 200  # documents of a list
MAX_DOCS, MAX_FEATURES = 1_000, 1_000  # in an external list
MAX_NUMBERS = 200_000  # feature values of an external list
MAX_VALUE = 1e30  # largest feature or score, so that sums of squares do not overflow
MAX_IMPORT = 4_000_000  # characters
MAX_ID = 2**63 - 1  # largest id of a row in the store
QUEUE_DEPTH = 10  # results of a query that are to be judged
MAX_NEED = 2_000  # characters of an information need or a note
MAX_SET_QUERIES = 1_000  # in a query set
MAX_SETS, MAX_SNAPSHOTS = 1_000, 1_000  # per collection
MAX_BOARD_RANKERS = 8  # compared at a time
FROZEN_DEPTH = 100  # documents of a ranking that are measured and frozen
MAX_FROZEN_LABELS = 2_000  # per query of a snapshot
