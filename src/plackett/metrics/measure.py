"""``Measure``: a measure with its parameters, such as ``ndcg@10``, parsed, printed, compared and computed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from plackett.metrics import diversity, exposure, incomplete, whole_order  # noqa: F401  they fill the registry
from plackett.metrics.conventions import CONVENTIONS, Convention, get_convention
from plackett.metrics.judged_lists import JudgedLists, check_cutoff, check_empty, judge
from plackett.metrics.registry import ALIASES, KINDS, MeasureKind
from plackett.storage.models.registry import register_text

_PATTERN = re.compile(
    r"\s*(?P<name>[A-Za-z][A-Za-z0-9_-]*?)\s*(?:@\s*(?P<k>[^\s(]+))?\s*(?:\((?P<inside>.*)\))?\s*", re.DOTALL
)


NUMBERS = {"relevant_from", "max_label", "p", "alpha"}
_NOTHING = JudgedLists(np.zeros(0), np.zeros(0), np.zeros(1, dtype=np.int64))


class Measure:
    """A measure with its cut-off, and optionally parameters and a convention.

    Other parameters follow the convention: its own, or else that of the table in which the measure is computed, or else
    ``standard``, as in early stopping.

    Parameters
    ----------
    name : str
        ``ndcg``, ``map``, ``mrr``, ``p``, ``recall``, ``err``, ``dcg``, ``mean-ndcg``, ``kendall``, ``mre``,
        ``persistence``, ``exact``, ``sharp-ndcg``, ``wpd``, or an alias such as ``precision``.
    k : int, default=None
        Cut-off; None counts the whole list.
    convention : str or Convention, default=None
        The rules of this measure wherever it is computed: in ``evaluate``, ``compare`` and ``select``, in early
        stopping (``eval_metric``), in ``AdaRank``.
    **parameters
        Keywords of the function in :mod:`plackett.metrics`, such as ``gain="linear"``.

    Examples
    --------
    >>> Measure.parse("NDCG@10")
    Measure('ndcg@10')
    >>> Measure("err", k=20, max_label=4) == Measure.parse("err@20(max_label=4)")
    True
    >>> Measure("ndcg", 10, convention="letor4")
    Measure('ndcg@10(convention=letor4)')
    >>> Measure.parse("precision@5")([1, 0, 1], [3, 2, 1])
    array([0.4])
    """

    __slots__ = ("convention", "k", "kind", "parameters")

    kind: MeasureKind
    k: int | None
    convention: Convention | None
    parameters: Mapping[str, object]

    def __init__(
        self, name: str, k: int | None = None, *, convention: str | Convention | None = None, **parameters: object
    ):
        kind = KINDS[_known_name(name)]
        k = check_cutoff(k)
        if kind.cutoff == "none" and k is not None:
            raise ValueError(f"{kind.name} uses the whole list; it has no cut-off, but {name}@{k} was given.")
        if kind.cutoff == "required" and k is None:
            raise ValueError(f"{kind.name} needs a cut-off, such as {kind.name}@10.")
        known = (*kind.defaults, *(() if kind.is_overall else ("empty",)))
        for key in parameters:
            if key not in known:
                has = ", ".join((*sorted(known), "convention"))
                raise ValueError(f"{kind.name} has no parameter {key!r}; it has {has}.")
        if "empty" in parameters:
            check_empty(parameters["empty"])
        for key in NUMBERS & set(parameters):
            if not _is_number(parameters[key]) and not (key == "max_label" and parameters[key] is None):
                raise ValueError(f"{kind.name}({key}={parameters[key]}): {key} must be a number.")
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "convention", None if convention is None else get_convention(convention))
        object.__setattr__(self, "parameters", MappingProxyType(dict(sorted(parameters.items()))))
        if kind.is_overall:  # raises now for what could not be computed later
            self.rules.overall([self], [self.name], _NOTHING)
        else:
            self.rules.values(self, _NOTHING)

    @classmethod
    def parse(cls, text: str | Measure) -> Measure:
        """Return the measure that a text names.

        Parameters
        ----------
        text : str or Measure
            ``name``, ``name@k`` or ``name@k(key=value, ...)``, in upper or lower case. A Measure is returned as it is.

        Returns
        -------
        Measure

        Examples
        --------
        >>> Measure.parse("ERR@20(max_label=4)")
        Measure('err@20(max_label=4)')
        """
        if isinstance(text, Measure):
            return text
        match = _PATTERN.fullmatch(text)
        if match is None:
            raise ValueError(f'{text!r} is not a measure; write it like "ndcg@10" or "err@20(max_label=4)".')
        k = match["k"]
        if k is not None and not k.isdecimal():
            raise ValueError(f"{text!r}: the cut-off after @ must be an integer of at least 1, not {k!r}.")
        parameters: dict[str, Any] = _parse_parameters(text, match["inside"])
        if "k" in parameters:
            raise ValueError(f"{text!r}: write the cut-off after @, as in {match['name']}@{parameters['k']}.")
        return cls(match["name"], None if k is None else int(k), **parameters)

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def higher_is_better(self) -> bool:
        return self.kind.higher_is_better

    def __call__(self, labels, scores, *, qid=None, docid=None) -> np.ndarray:
        """Return one value per query, from arrays in any row order; of an overall measure its one value.

        Parameters
        ----------
        labels, scores : array-like of shape (n_docs,)
        qid : array-like of shape (n_docs,), default=None
            Query of each row; None means one list.
        docid : array-like of shape (n_docs,), default=None
            Document ids, which ``ties="trec"`` and overall measures need.

        Returns
        -------
        ndarray of shape (n_queries,), queries in order of appearance
        """
        return self._compute(judge(labels, scores, qid, docid))

    def _compute(self, lists: JudgedLists) -> np.ndarray:
        if self.kind.is_overall:
            return np.asarray(self.rules.overall([self], [self.name], lists)[self.name])
        return self.values(lists)

    def values(self, lists: JudgedLists) -> np.ndarray:
        """Return one value per query of ``lists``, under the measure's convention."""
        return self.rules.table([self], lists)[0][:, 0]

    @classmethod
    def per_query(cls, metric: str | Measure) -> Measure:
        """Return the measure of ``parse``; raise a ValueError if it has one value for all queries."""
        measure = cls.parse(metric)
        if measure.kind.is_overall:
            raise ValueError(
                f"{measure} has one value for all queries and cannot choose between rankers. Choose by a measure with "
                "a value per query, such as ndcg@10."
            )
        return measure

    @property
    def rules(self) -> Convention:
        """The convention of the measure; ``standard`` by default."""
        return self.convention or CONVENTIONS["standard"]

    @property
    def has_known_rules(self) -> bool:
        """Whether its text is complete: a convention that is not in ``CONVENTIONS`` cannot be found by name."""
        return self.convention is None or CONVENTIONS.get(self.convention.name) == self.convention

    def saved_text(self) -> str:
        """Return the text for a model file; ValueError for a convention that is not in ``CONVENTIONS``."""
        if not self.has_known_rules:
            raise ValueError(
                f"{self} has a convention that is not in plackett.metrics.CONVENTIONS, so a file cannot name it. "
                "Give its parameters one by one instead."
            )
        return str(self)

    def under(self, convention: Convention) -> Measure:
        """Return the measure with ``convention``, unless it has one already; ``standard`` needs no mention."""
        if self.convention is not None or convention == self.rules:
            return self
        return Measure(self.name, self.k, convention=convention, **self.parameters)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Measure is immutable; make a new one.")

    def __reduce__(self):
        return _rebuild, (self.kind.name, self.k, self.convention, dict(self.parameters))

    def _key(self) -> tuple:
        name = None if self.convention is None else self.convention.name
        return (self.kind.name, self.k, name, tuple(self.parameters.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and self._key() == other._key() and self.convention == other.convention

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        cutoff = "" if self.k is None else f"@{self.k}"
        own = {} if self.convention is None else {"convention": self.convention.name}
        inside = ", ".join(f"{key}={_print_value(value)}" for key, value in {**own, **self.parameters}.items())
        return f"{self.kind.name}{cutoff}" + (f"({inside})" if inside else "")

    def __repr__(self) -> str:
        return f"Measure({str(self)!r})"


register_text(Measure, Measure.saved_text, Measure.parse)


def _rebuild(name: str, k: int | None, convention: Convention | None, parameters: dict) -> Measure:
    return Measure(name, k, convention=convention, **parameters)


def split_measures(text: str) -> list[str]:
    """Return the parts of a text such as ``"ndcg@10, map"``, split at commas outside of brackets."""
    return [part for part in split_list(text, "()") if part]


def split_list(text: str, brackets: str) -> list[str]:
    """Return the parts between commas, except those between ``brackets``, an opening and a closing one."""
    opening, closing = brackets[0], brackets[1]
    parts, depth = [""], 0
    for character in text:
        depth += (character == opening) - (character == closing)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _known_name(name: str) -> str:
    key = name.strip().lower().replace("_", "-")
    if key not in ALIASES:
        cut = re.fullmatch(r"(.+?)(?:-cut)?-?([1-9]\d*)", key)  # ndcg10, ndcg_10, and trec_eval's ndcg_cut_10
        is_cut = cut is not None and cut[1] in ALIASES and KINDS[ALIASES[cut[1]]].cutoff != "none"
        near = [f"{cut[1]}@{cut[2]}"] if is_cut and cut else difflib.get_close_matches(key, ALIASES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"there is no measure {name!r}.{hint} Known are: {', '.join(sorted(KINDS))}.")
    return ALIASES[key]


def _parse_parameters(text: str, inside: str | None) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for part in (inside or "").split(","):
        if not part.strip():
            continue
        key, equals, value = part.partition("=")
        if not equals or not value.strip():
            raise ValueError(f"{text!r}: expected key=value between the brackets, found {part.strip()!r}.")
        key = key.strip()
        if key in parameters:
            raise ValueError(f"{text!r}: {key} is given twice.")
        parameters[key] = _parse_value(value.strip())
    return parameters


def _parse_value(text: str) -> object:
    bare = text.strip("'\"")
    if bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    if bare == "None":
        return None
    for number in (int, float):
        try:
            return number(bare)
        except ValueError:
            continue
    return bare


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and value == value


def _print_value(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else str(value)
