"""``Measure``: a measure with its parameters, such as ``ndcg@10``, parsed, printed, compared and computed."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from plackett._names import similar_names
from plackett._plugins import load_plugin, plugins
from plackett.exceptions import UnknownNameError
from plackett.metrics import binary, diversity, graded, incomplete, whole_order  # noqa: F401  they fill KINDS
from plackett.metrics.conventions import CONVENTIONS, Convention, get_convention
from plackett.metrics.judged_lists import JudgedLists, check_cutoff, check_empty, judge
from plackett.metrics.own import ORDERS, own_kind, register_kind
from plackett.metrics.registry import ALIASES, KINDS, OWN_KINDS, MeasureKind, as_key
from plackett.storage.models.registry import register_text

_PATTERN = re.compile(
    r"\s*(?P<name>[^\W\d](?:[\w.:-]*?\w)?)\s*(?:@\s*(?P<k>[^\s(]+))?\s*(?:\((?P<inside>.*)\))?\s*", re.DOTALL
)


NUMBERS = {"relevant_from", "max_label", "p", "alpha"}
_NOTHING = JudgedLists(np.zeros(0), np.zeros(0), np.zeros(1, dtype=np.int64))


class Measure:
    """A measure with its cut-off, and optionally parameters and a convention.

    Other parameters follow the convention: its own, or else that of the table in which the measure is computed, or else
    ``standard``, as in early stopping.

    Parameters
    ----------
    name : str or callable
        A name such as ``ndcg``, ``map`` or ``bpref``, or an alias such as ``precision``; the page on measures has all.
        Or your own function: see :func:`make_measure`.
    k : int, default=None
        Cut-off; None counts the whole list.
    convention : str or Convention, default=None
        The rules of this measure wherever it is computed: in ``evaluate``, ``compare`` and ``select``, in early
        stopping (``eval_metric``), in ``AdaRank``.
    **parameters
        Keywords of the function in :mod:`plackett.metrics`, such as ``gain="linear"``.

    Examples
    --------
    >>> from plackett.metrics import Measure
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
        self,
        name: str | Measure | MeasureKind | Callable[..., Any],
        k: int | None = None,
        *,
        convention: str | Convention | None = None,
        **parameters: object,
    ):
        kind = _as_kind(name)
        k = check_cutoff(k)
        if kind.cutoff == "none" and k is not None:
            raise ValueError(f"{kind.name} uses the whole list; it has no cut-off, but {kind.name}@{k} was given.")
        if kind.cutoff == "required" and k is None:
            raise ValueError(f"{kind.name} needs a cut-off, such as {kind.name}@10.")
        known = (*kind.defaults, "empty")
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
        self.rules.values(self, _NOTHING)  # raises now for what could not be computed later

    @classmethod
    def parse(cls, text: str | Measure | Callable[..., Any]) -> Measure:
        """Return the measure that a text names.

        Parameters
        ----------
        text : str, Measure or callable
            ``name``, ``name@k`` or ``name@k(key=value, ...)``, in upper or lower case. A Measure is returned as it is,
            and a function as a measure of your own, as :func:`make_measure` returns it.

        Examples
        --------
        >>> Measure.parse("ERR@20(max_label=4)")
        Measure('err@20(max_label=4)')
        """
        if isinstance(text, Measure):
            return text
        if not isinstance(text, str):
            return cls(text)
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
        """Return one value per query, from arrays in any row order; a single value for an overall measure.

        Parameters
        ----------
        labels, scores : array-like of shape (n_docs,)
        qid : array-like of shape (n_docs,), default=None
            Query of each row; None means one list.
        docid : array-like of shape (n_docs,), default=None
            Document ids, which ``ties="trec"`` needs.

        Returns
        -------
        ndarray of shape (n_queries,), queries in order of appearance
        """
        return self.values(judge(labels, scores, qid, docid))

    def values(self, lists: JudgedLists) -> np.ndarray:
        """Return one value per query of ``lists``, under the measure's convention."""
        return self.rules.table([self], lists)[0][:, 0]

    @property
    def is_sampled(self) -> bool:
        """Whether the value of a random order is estimated from some orders, for lack of an exact expectation."""
        return self.kind.own is not None and self.kind.own.expectation is None

    @property
    def orders(self) -> int:
        """The maximum number of orders of tied documents for which a user's measure is computed."""
        return int(self.parameters.get("orders", ORDERS))  # type: ignore[call-overload]

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
        if self.kind.is_own:
            raise ValueError(f"{self} is your own measure, which a model file cannot hold. Set another one to save.")
        if not self.has_known_rules:
            raise ValueError(
                f"{self} has a convention that is not in plackett.metrics.CONVENTIONS, so a file cannot name it. "
                "Pass its parameters one by one instead."
            )
        return str(self)

    def under(self, convention: Convention) -> Measure:
        """Return the measure with ``convention``, unless it has one already; ``standard`` needs no mention."""
        if self.convention is not None or convention == self.rules:
            return self
        return Measure(self.kind, self.k, convention=convention, **self.parameters)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Measure is immutable; create a new one.")

    def __reduce__(self):
        kind = self.kind if self.kind.is_own else self.kind.name
        return _rebuild, (kind, self.k, self.convention, dict(self.parameters))

    def _key(self) -> tuple:
        name = None if self.convention is None else self.convention.name
        return (self.kind.name, self.k, name, tuple(self.parameters.items()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Measure) or self._key() != other._key():
            return False
        return self.convention == other.convention and self.kind == other.kind

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        cutoff = "" if self.k is None else f"@{self.k}"
        own = {} if self.convention is None else {"convention": self.convention.name}
        inside = ", ".join(f"{key}={_print_value(value)}" for key, value in {**own, **self.parameters}.items())
        return f"{self.kind.name}{cutoff}" + (f"({inside})" if inside else "")

    def __repr__(self) -> str:
        return f"Measure({str(self)!r})"


def _from_file(text: str) -> Measure:
    """Return the measure that a model file names; only those of plackett, so that a file never imports code."""
    match = _PATTERN.fullmatch(text)
    if match is None or as_key(match["name"]) not in ALIASES:
        raise ValueError(f"the file names {text!r}, which is not a measure of plackett.")
    return Measure.parse(text)


register_text(Measure, Measure.saved_text, _from_file)


def _rebuild(name: str | MeasureKind, k: int | None, convention: Convention | None, parameters: dict) -> Measure:
    return Measure(name, k, convention=convention, **parameters)


def make_measure(
    function: Callable[..., Any],
    k: int | None = None,
    *,
    name: str | None = None,
    vectorized: bool = False,
    higher_is_better: bool = True,
    expectation: Callable[..., Any] | None = None,
    empty: object = "skip",
    **parameters: object,
) -> Measure:
    """Return a measure of your own from a function of the labels in ranked order.

    It works in ``evaluate``, ``compare``, ``select`` and early stopping. A plain function works there too, with the
    defaults below. A parameter ``k`` of the function is the cut-off; its other parameters are those of the measure.

    Parameters
    ----------
    function : callable
        ``function(labels)`` gets the labels of one query in ranked order, an array, and returns a number. NaN means
        that the query has no value. With a run, these are the labels of the retrieved documents; a parameter ``ideal``
        gets those of all documents of the query in descending order.
    k : int, default=None
    name : str, default=None
        None takes the name of the function; a lambda needs one.
    vectorized : bool, default=False
        Whether the function computes many queries at once: ``function(labels, indptr)`` gets the labels of list i as
        ``labels[indptr[i]:indptr[i + 1]]``, none of them empty, and returns one number per list. A parameter ``ideal``
        gets an array for each list.
    higher_is_better : bool, default=True
    expectation : callable, default=None
        Gets the same arguments as the function, labels in any order, and returns the mean over all orders, which is
        the exact value of a random order. Without it, that value is the mean over sampled orders.
    empty : {0, 1, "skip"}, default="skip"
        The value of NaN in means; "skip" leaves the query out.
    **parameters
        Parameters of the function, ``convention``, and those of all measures of your own: ``ties``, and ``orders``, the
        maximum number of orders in which a list with ties is measured (64).

    Notes
    -----
    Equal scores count with the mean over their orders: exactly if there are at most ``orders`` of them, else over that
    many random orders. They depend only on the labels of the tied documents, never on the order of the rows.

    Examples
    --------
    >>> from plackett.metrics import make_measure
    >>> def first_bad(labels):  # position of the first document that is not relevant
    ...     return int((labels < 1).argmax()) + 1 if (labels < 1).any() else len(labels) + 1
    >>> measure = make_measure(first_bad, name="first-bad")
    >>> measure([2, 0, 1], [0.9, 0.4, 0.1])
    array([2.])
    >>> measure([2, 0], [0.5, 0.5])  # both orders of the tie: (2 + 1) / 2
    array([1.5])
    """
    kind = own_kind(
        function,
        name=name,
        is_vectorized=vectorized,
        higher_is_better=higher_is_better,
        expectation=expectation,
        empty=empty,
    )
    return Measure(kind, k, **parameters)  # type: ignore[arg-type]


def register(measure: Any) -> Any:
    """Make a measure of your own known by its name, in texts such as ``"ndcg@10,first-bad@5"``, and return it.

    It is known in this process; worker processes get the measure itself. A measure registered earlier under the same
    name is replaced.

    Parameters
    ----------
    measure : Measure or callable
        From :func:`make_measure`, whose cut-off and parameters the text may override; or a plain function.

    Returns
    -------
    Measure or callable
        The argument, so that ``register`` can be a decorator.

    Examples
    --------
    >>> from plackett.metrics import Measure, register
    >>> @register
    ... def top_label(labels, k=1):
    ...     return labels[:k].max()
    >>> Measure.parse("top-label@2")([2, 3, 1], [0.9, 0.4, 0.1])
    array([3.])
    """
    register_kind(measure.kind if isinstance(measure, Measure) else own_kind(measure))
    return measure


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


def _as_kind(name: str | Measure | MeasureKind | Callable[..., Any]) -> MeasureKind:
    if isinstance(name, MeasureKind):
        return name
    if isinstance(name, Measure):
        return name.kind
    if not isinstance(name, str):
        known = next((kind for kind in OWN_KINDS.values() if kind.own and kind.own.function is name), None)
        return known or own_kind(name)
    return _known_kind(name)


def _known_kind(name: str) -> MeasureKind:
    key = as_key(name)
    if key in ALIASES:
        return KINDS[ALIASES[key]]
    if key not in OWN_KINDS and (plugin := _plugin(key)) is not None:
        found = load_plugin("measures", plugin)
        kind = found.kind if isinstance(found, Measure) else own_kind(found)
        register_kind(dataclasses.replace(kind, name=plugin))
    if key in OWN_KINDS:
        return OWN_KINDS[key]
    if ":" in name:
        raise ValueError(
            f"there is no measure {name!r}. module:name works in the command; in Python, pass the function itself."
        )
    cut = re.fullmatch(r"(.+?)(?:-cut)?-?([1-9]\d*)", key)  # ndcg10, ndcg_10, and trec_eval's ndcg_cut_10
    is_cut = cut is not None and cut[1] in ALIASES and KINDS[ALIASES[cut[1]]].cutoff != "none"
    near = [f"{cut[1]}@{cut[2]}"] if is_cut and cut else similar_names(key, [*ALIASES, *OWN_KINDS], n=1)
    hint, known = f" Did you mean {near[0]!r}?" if near else "", sorted(KINDS)
    raise UnknownNameError(f"there is no measure {name!r}", f".{hint} Known measures: {', '.join(known)}.", known, near)


def _plugin(key: str) -> str | None:
    """Return the name of the entry point that an installed package has for a measure, or None."""
    return next((name for name in plugins("measures") if as_key(name) == key), None)


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
