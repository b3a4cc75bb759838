"""Published data sets by name, read from the user's folder, and synthetic ones.

>>> from plackett import datasets
>>> datasets.info("ohsumed", version="letor2").columns["bm25"]
21
>>> datasets.fold_parts(2)
FoldParts(train=('S2', 'S3', 'S4'), validation='S5', test='S1')
"""

from plackett._lazy import attach

_NAMES = {
    "plackett.data.datasets.catalogue": "DatasetInfo",
    "plackett.data.datasets.published": "Fold FoldParts fold_parts info load load_fold load_folds locate names",
    "plackett.data.datasets.synthetic": "make_web_like",
    "plackett.data.documents.stdlib_corpus": "read_stdlib",
    "plackett.data.feedback.ratings": "read_movielens read_movies",
}
__all__, __getattr__, __dir__ = attach(__name__, _NAMES)
