"""Preprocessing: missing values, categories, and scaling of features within each query."""

from plackett._lazy import attach

_NAMES = {
    "plackett.data.preprocessing.categories": "OneHotCategories TargetCategories",
    "plackett.data.preprocessing.missing": "MissingValues",
    "plackett.data.preprocessing.scaling": "QueryMinMax QueryRank QueryUnitLength QueryZScore",
}
__all__, __getattr__, __dir__ = attach(__name__, _NAMES)
