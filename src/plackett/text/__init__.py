"""Text: an index with fields, rankers without training, Boolean queries, features of pairs, PageRank."""

from plackett.text.analyse import Analyser
from plackett.text.boolean import BooleanSyntaxError, parse_boolean
from plackett.text.build import build_index
from plackett.text.features import letor_features
from plackett.text.index import TextIndex, open_index
from plackett.text.links import pagerank
from plackett.text.search import Hit, Hits
from plackett.text.weighting import (
    BM25,
    AbsoluteDiscounting,
    Dirichlet,
    JelinekMercer,
    VectorSpace,
    get_ranker,
)

__all__ = [
    "BM25",
    "AbsoluteDiscounting",
    "Analyser",
    "BooleanSyntaxError",
    "Dirichlet",
    "Hit",
    "Hits",
    "JelinekMercer",
    "TextIndex",
    "VectorSpace",
    "build_index",
    "get_ranker",
    "letor_features",
    "open_index",
    "pagerank",
    "parse_boolean",
]
