"""Reasons in words: what a feature of a document says about it."""

from __future__ import annotations

import re
from functools import lru_cache

from plackett.apps.workbench.engines.settings import SCORE
from plackett.apps.workbench.values import Record
from plackett.text.features import FIELD_FEATURES


class Reason(Record):
    """A reason why a document moved: the condition on a feature, the same in words, and its share of the score.

    The share is relative to another document, or to the mean of the list.
    """

    text: str
    words: str
    amount: float


# (above the threshold, at most the threshold); {} is the field
_PHRASES = {
    "covered_terms": ("{} matches more of the query's words", "{} matches fewer of the query's words"),
    "covered_terms_ratio": (
        "{} matches a larger share of the query's words",
        "{} matches a smaller share of the query's words",
    ),
    "length": ("{} is longer", "{} is shorter"),
    "idf": ("{} matches rarer words of the query", "{} matches fewer of the query's rare words"),
    "tf": ("{} has the query's words more often", "{} has the query's words less often"),
    "normalized_tf": ("the query's words are a larger part of {}", "the query's words are a smaller part of {}"),
    "tfidf": ("{} has the query's rarer words more often", "{} has the query's rarer words less often"),
    "boolean": ("{} has all of the query's words", "{} lacks some of the query's words"),
    "vector_space": ("{} is closer to the query by TF-IDF", "{} is less close to the query by TF-IDF"),
    "bm25": ("{} matches the query better by BM25", "{} matches the query less well by BM25"),
    "lmir": (
        "{} matches the query better by its language model",
        "{} matches the query less well by its language model",
    ),
}
_VARIANCE = ("the query's words are unevenly frequent in {}", "the query's words are evenly frequent in {}")
_DOCUMENT = {
    "pagerank": ("it is linked from more important documents", "it is linked from less important documents"),
    "inlinks": ("more documents link to it", "fewer documents link to it"),
    "outlinks": ("it links to more documents", "it links to fewer documents"),
    "url_length": ("its address is longer", "its address is shorter"),
    "url_slashes": ("its address is deeper", "its address is less deep"),
    SCORE: ("the engine scores it higher", "the engine scores it lower"),
}
_CONDITION = re.compile(r"(.+) (>|≤|=) (\S+)", re.DOTALL)
# the longest names first: "covered_terms_ratio_title" is not the "covered_terms" of a field "ratio_title"
_FIELD = re.compile(f"({'|'.join(sorted(FIELD_FEATURES, key=len, reverse=True))})_(.+)", re.DOTALL)


@lru_cache(maxsize=4096)  # many documents of a list have the same reasons
def reason_words(text: str, helps: bool) -> str:
    """Return a reason such as "covered_terms_title > 1" in words.

    Examples
    --------
    >>> reason_words("covered_terms_title > 1", True)
    "title matches more of the query's words"
    >>> reason_words("price ≤ 20", False)
    'price is lower'
    """
    condition = _CONDITION.fullmatch(text)
    if condition is None:
        return text
    name, sign = condition[1], condition[2]
    is_more = sign == ">" if sign != "=" else helps  # "=" has no threshold: what helps counts as more
    above, below = _phrases(name)
    return above if is_more else below


def _phrases(name: str) -> tuple[str, str]:
    if name in _DOCUMENT:
        return _DOCUMENT[name]
    found = _FIELD.fullmatch(name)
    if found is None:
        return f"{name} is higher", f"{name} is lower"
    feature, field = found[1], "the document" if found[2] == "whole" else found[2]
    kind = re.sub("_(sum|min|max|mean|abs|dir|jm)$", "", feature)
    above, below = _VARIANCE if feature.endswith("_variance") else _PHRASES[kind]
    return above.format(field), below.format(field)
