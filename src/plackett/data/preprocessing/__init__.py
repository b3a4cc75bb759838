"""Preprocessing: missing values, categories, and scaling of features within each query."""

from plackett.data.preprocessing.categories import OneHotCategories, TargetCategories
from plackett.data.preprocessing.missing import MissingValues
from plackett.data.preprocessing.scaling import QueryMinMax, QueryRank, QueryUnitLength, QueryZScore

__all__ = [
    "MissingValues",
    "OneHotCategories",
    "QueryMinMax",
    "QueryRank",
    "QueryUnitLength",
    "QueryZScore",
    "TargetCategories",
]
