"""Published data sets by name, read from the user's folder, and synthetic ones.

>>> from plackett import datasets
>>> datasets.info("ohsumed", version="letor2").columns["bm25"]
21
>>> datasets.fold_parts(2)
FoldParts(train=('S2', 'S3', 'S4'), validation='S5', test='S1')
"""

from plackett.data.datasets.catalogue import DatasetInfo
from plackett.data.datasets.folders import load_folds
from plackett.data.datasets.published import Fold, FoldParts, fold_parts, info, load, load_fold, locate, names
from plackett.data.datasets.synthetic import make_query_dependent, make_rankings, make_web_like
from plackett.data.documents.stdlib_corpus import read_stdlib
from plackett.data.feedback.movielens import read_movielens, read_movies

__all__ = [
    "DatasetInfo",
    "Fold",
    "FoldParts",
    "fold_parts",
    "info",
    "load",
    "load_fold",
    "load_folds",
    "locate",
    "make_query_dependent",
    "make_rankings",
    "make_web_like",
    "names",
    "read_movielens",
    "read_movies",
    "read_stdlib",
]
