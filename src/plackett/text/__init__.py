"""Text: an index with fields, rankers without training, Boolean queries, features of pairs, PageRank."""

from plackett._lazy import attach

_NAMES = {
    "plackett.text.analyse": "Analyser",
    "plackett.text.boolean": "BooleanSyntaxError parse_boolean",
    "plackett.text.build": "build_index",
    "plackett.text.features": "letor_features",
    "plackett.text.index": "TextIndex open_index",
    "plackett.text.links": "pagerank",
    "plackett.text.search": "Hit Hits",
    "plackett.text.weighting": "BM25 AbsoluteDiscounting Dirichlet JelinekMercer VectorSpace get_ranker",
}
__all__, __getattr__, __dir__ = attach(__name__, _NAMES)
