"""An interleaved test: the lists to show, and the preference in its log."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from plackett.clicks.interleaving.fold import Fold
from plackett.clicks.interleaving.method import Basis, Draws, digest
from plackett.clicks.interleaving.methods import get_method
from plackett.clicks.interleaving.optimised import LARGEST_K, Optimised
from plackett.clicks.interleaving.preference import Preference, preference_of
from plackett.clicks.interleaving.records import LogFold
from plackett.evaluation.betting import Tally
from plackett.exceptions import DataWarning, warn
from plackett.validation import check_positive_int


@dataclass(frozen=True)
class ShownList:
    """A list to show.

    Attributes
    ----------
    id : str
        The id of the list, which does not change if the request is repeated.
    documents : list
        The documents to show, with the ids as given.
    is_contested : bool
        Whether its clicks are informative: False if the rankers agree on the first ``k``, or all but one are empty.
    basis : list of list of float
        For each document the numbers from which credits follow, to be logged; with "team-draft" the credit of each
        ranker for a click. Empty if the list is not contested.

    Examples
    --------
    >>> import plackett as pk
    >>> test = pk.clicks.Interleaver(k=3, random_state=0)
    >>> shown = test.draw({"bm25": ["a", "b", "c"], "new": ["b", "d", "a"]}, key="session 17", unit="user 4")
    >>> shown.documents, shown.is_contested
    (['a', 'b', 'd'], True)
    """

    id: str
    documents: list
    is_contested: bool
    basis: Basis = field(default_factory=list)


class Interleaver:
    """A test of two or more rankers by the clicks on lists that mix their results.

    ``draw`` returns one list that mixes those of all rankers. A service shows it, and logs ``record`` and the clicks;
    ``from_log`` credits each click to the rankers that would have shown the document. The list shown is a function of
    ``random_state``, the key of the request and the lists, so a repeated request shows the same list, in any process
    and order, and counts once.

    The preference is a mean over *units*, such as users, so that a user with 100 sessions does not count as 100. Only
    lists with a click count.

    Parameters
    ----------
    method : str, default="team-draft"
        For two rankers: "team-draft", "optimised"; for two or more: "probabilistic", "team-draft-multileave",
        "pairwise-preference".
    k : int, default=10
        Documents in a list; at most 10 for "optimised".
    credit : {"linear", "inverse"}, default=None
        For method="optimised"; None means "linear".
    random_state : int, default=None
        The seed. Ids of lists cannot be guessed without it. All processes of a service need the same one; None draws
        128 random bits.
    rankers : sequence of str, default=None
        Names of the rankers; None uses those of the first request.
    test : str, default="test"
        Name of the test in the log.

    Examples
    --------
    >>> import plackett as pk
    >>> test = pk.clicks.Interleaver(k=3, random_state=0)
    >>> shown = test.draw({"bm25": ["a", "b", "c"], "new": ["b", "d", "a"]}, key="session 17", unit="user 4")
    >>> shown.documents
    ['a', 'b', 'd']
    >>> click = {"action_name": "click", "query_id": shown.id, "timestamp": "2026-03-01T10:00:00Z"}
    >>> click["event_attributes"] = {"object": {"object_id": "d"}}
    >>> pk.clicks.Interleaver.from_log([test.record(shown, unit="user 4"), click]).preference().mean
    -1.0
    """

    def __init__(
        self,
        method: str = "team-draft",
        *,
        k: int = 10,
        credit: str | None = None,
        random_state: int | None = None,
        rankers: Sequence[str] | None = None,
        test: str = "test",
    ):
        self._method = get_method(method, credit)
        self.method, self.k, self.credit, self.test = method, check_positive_int(k, "k"), credit, test
        if isinstance(self._method, Optimised) and self.k > LARGEST_K:
            raise ValueError(f'k={k}; method="optimised" tries all lists of at most {LARGEST_K} documents.')
        if random_state is not None and (
            isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)) or random_state < 0
        ):
            raise ValueError(f"random_state={random_state!r}; a whole number from 0, or None, is needed.")
        self.random_state = secrets.randbits(128) if random_state is None else int(random_state)
        self._rankers: list[str] = []
        self._fold: Fold | None = None
        if rankers is not None:
            self._fix(rankers)

    @property
    def rankers(self) -> list[str] | None:
        """The names of the rankers in the order of preferences; None before the first request."""
        return list(self._rankers) or None

    def _fix(self, names: Iterable) -> None:
        """Fix the rankers of the test."""
        rankers = [_name(name, "ranker") for name in names]
        if len(set(rankers)) < 2:
            raise ValueError(f"a test compares at least two rankers with different names; {len(rankers)} were given.")
        if self._method.takes_two and len(rankers) != 2:
            others = '"probabilistic", "team-draft-multileave" or "pairwise-preference"'
            raise ValueError(f"method={self.method!r} compares two rankers, not {len(rankers)}. Use {others}.")
        self._rankers = rankers

    # --- Lists --------------------------------------------------------------------------------------------------------

    def draw(
        self, lists: Mapping[str, Sequence], *, key: Any = None, unit: Any = None, k: int | None = None
    ) -> ShownList:
        """Return the list to show for a request.

        Parameters
        ----------
        lists : mapping of ranker to its ranked document ids
            Ids are texts or whole numbers. Of a document that occurs twice in a list the first place counts, with a
            warning. Pass at least ``k`` ids if the ranker has them.
        key : str or int, default=None
            Identifies the request, such as the session and the query. The same key, unit and lists give the same list,
            which counts once. None draws a key.
        unit : str or int, default=None
            Identifies the unit, such as the user.
        k : int, default=None
            Documents of this list, if they are fewer than those of the test.
        """
        if not self._rankers:
            self._fix(lists)
        names = self._rankers
        if len(lists) != len(names) or any(name not in lists for name in names):
            raise ValueError(
                f"this test compares {', '.join(names)}, but the lists are of {', '.join(map(str, lists))}."
            )
        n_shown = self.k if k is None else min(self.k, check_positive_int(k, "k"))
        texts, given = _as_texts([lists[name] for name in names], names)
        tops = [documents[:n_shown] for documents in texts]
        is_contested = any(top != tops[0] for top in tops) and sum(map(bool, tops)) > 1
        parts = [self.test, secrets.token_hex(16) if key is None else _name(key, "key"), _viewer(unit)]
        for documents in texts:
            parts += [str(len(documents)), *documents]
        if n_shown < self.k:
            parts.append(f"k {n_shown}")
        list_id = digest(self.random_state, parts)
        if is_contested:
            shown, basis = self._method.draw(texts, n_shown, Draws(int(list_id, 16)))
        else:
            shown, basis = max(tops, key=len), []
        return ShownList(list_id, [given[document] for document in shown], is_contested, basis)

    def record(self, shown: ShownList, *, unit: Any = None) -> dict[str, Any]:
        """Return the record of a shown list to be logged, as one line of JSON in the schema of UBI's queries.

        Parameters
        ----------
        shown : ShownList
        unit : str or int, default=None
            The unit of ``draw``; None: the list is its own unit.
        """
        about = {"test": self.test, "method": self.method, "k": self.k, "credit": self.credit, "list": shown.id}
        about |= {"rankers": [{"model": name} for name in self._rankers]}
        about |= {"n_mixed": len(shown.documents), "basis": shown.basis}
        return {
            "query_id": shown.id,
            "client_id": _viewer(unit) or f"list {shown.id}",
            "query_response_hit_ids": [_name(document, "a shown document") for document in shown.documents],
            "query_attributes": {"interleaving": about},
        }

    # --- The preference -----------------------------------------------------------------------------------------------

    @classmethod
    def from_log(
        cls,
        records: Iterable[Mapping[str, Any]],
        *,
        test: str | None = None,
        lists_per_unit: int | None = 1,
        idle: float | None = None,
    ) -> Interleaver:
        """Return the test in the records of a log, with all clicks credited.

        A unit counts once, by the mean over its clicked lists up to its first click on the last of ``lists_per_unit``:
        values that were inspected must not change afterwards. Its later clicks are ignored. So the log may be read
        again while it grows. Clicks on lists or documents that it does not have are ignored, with a warning.

        Parameters
        ----------
        records : iterable of dict
            Shown lists, as ``record`` returns them, and UBI's click events, which name the list as ``query_id``, the
            document, and the time with its zone; in any order.
        test : str, default=None
            Name of the test; not needed if the log has one.
        lists_per_unit : int, default=1
            Clicked lists after which a unit counts. None: see ``idle``.
        idle : float, default=None
            A unit also counts, with fewer lists, when its last click is this many seconds before the last click of the
            log. With 0 all units count, for a test that is over.
        """
        events: list[tuple[int, int, Any]] = []
        queries: list[Any] = []
        for place, record in enumerate(records):
            if isinstance(record, Mapping) and "action_name" in record:
                events.append((0, place, record))
            else:
                queries.append(record)
        log = LogFold(lists_per_unit, idle)
        log.read(queries, events)
        found = log.tests()
        if not found:
            raise ValueError("the records have no interleaved list.")
        if test is None and len(found) == 1:
            (test,) = found
        if test is None or test not in found:
            raise ValueError(f"test={test!r}; the records have the tests {', '.join(map(repr, found))}.")
        return cls.of_fold(test, *found[test])

    @classmethod
    def of_fold(cls, test: str, settings: Mapping[str, Any], fold: Fold) -> Interleaver:
        """Return a test whose clicks were folded."""
        found = cls(**settings, test=test, random_state=0)
        found._fold = fold
        return found

    def preference(
        self, first: str | None = None, second: str | None = None, *, level: float = 0.95, margin: float | None = None
    ) -> Preference:
        """Return the preference for a ranker over another one, with an interval that holds at all times.

        Parameters
        ----------
        first, second : str, default=None
            Names of rankers; not needed if there are two.
        level : float, default=0.95
        margin : float, default=None
            A preference smaller than this does not matter: if the interval lies within it, the verdict is "no
            difference that matters".
        """
        first, second, tally = self._tally(first, second)
        return preference_of(tally, first, second, level=level, margin=margin)

    def values(self, first: str | None = None, second: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of closed units, rounded to 0.0001, and how often each occurs."""
        low, high, counts = self._tally(first, second)[2].bounds()
        return (low + high) / 2, counts

    def preferences(self, *, level: float = 0.95, margin: float | None = None) -> list[Preference]:
        """Return the preferences of all pairs of rankers, whose intervals hold together (Bonferroni)."""
        pairs = list(combinations(self._rankers, 2))
        share = 1 - (1 - level) / max(1, len(pairs))
        return [self.preference(first, second, level=share, margin=margin) for first, second in pairs]

    def _tally(self, first: str | None, second: str | None) -> tuple[str, str, Tally]:
        """Return the names of two rankers, and the values of their preference."""
        names = self._rankers
        if self._fold is None:
            raise ValueError("this test has no clicks. Its preference is that of Interleaver.from_log(records).")
        if first is None and second is None and len(names) == 2:
            first, second = names
        if first is None or second is None or first == second or not {first, second} <= set(names):
            raise ValueError(f"{first!r} and {second!r}: name two of the rankers {', '.join(names)}.")
        return first, second, self._fold.tally(names.index(first), names.index(second))


def _viewer(unit: Any) -> str:
    return "" if unit is None else f"unit {_name(unit, 'unit')}"


def _name(value: Any, what: str) -> str:
    """Return an id as text."""
    if type(value) is str:
        return value
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"{what} is {value!r}; ids must be strings or whole numbers.")


def _as_texts(lists: Sequence[Sequence], names: Sequence[str]) -> tuple[list[list[str]], dict[str, Any]]:
    """Return the ids of all lists as texts, without duplicates, and the ids as given by their texts."""
    given: dict[str, Any] = {}
    texts = []
    for documents, name in zip(lists, names, strict=True):
        if isinstance(documents, (str, bytes, Mapping)) or not isinstance(documents, Iterable):
            raise TypeError(f"the list of {name} is {documents!r}; a sequence of document ids is needed.")
        documents, what = list(documents), f"a document of {name}"
        own = {_name(document, what): document for document in documents}
        if len(own) < len(documents):
            warn(f"{name} returned a document twice; the first place counts.", DataWarning)
        given = own | given
        texts.append(list(own))
    return texts, given
