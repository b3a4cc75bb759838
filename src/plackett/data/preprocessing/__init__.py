"""Preprocessing: scaling of features within each query."""

from plackett.data.preprocessing.scaling import QueryMinMax, QueryRank, QueryUnitLength, QueryZScore

__all__ = ["QueryMinMax", "QueryRank", "QueryUnitLength", "QueryZScore"]
