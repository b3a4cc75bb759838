"""An interleaved test: lists for requests, credit for clicks, and the running preference."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett.clicks.interleaving.betting import Tally
from plackett.clicks.interleaving.draws import SeededDraws, digest
from plackett.clicks.interleaving.method import Basis
from plackett.clicks.interleaving.methods import get_method
from plackett.clicks.interleaving.optimised import LARGEST_K, Optimised
from plackett.clicks.interleaving.preference import Preference, preference_of
from plackett.clicks.interleaving.records import ListRecord, Status, credited
from plackett.clicks.interleaving.state import MemoryState, State
from plackett.exceptions import DataWarning, warn
from plackett.validation import check_positive_int

FORMAT, VERSION = "plackett interleaving", 1


@dataclass(frozen=True)
class ShownList:
    """A list to show.

    Attributes
    ----------
    id : str
        The id to pass to ``Interleaver.credit``.
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
    >>> shown = test.serve({"bm25": ["a", "b", "c"], "new": ["b", "d", "a"]}, key="session 17", unit="user 4")
    >>> shown.documents, shown.is_contested
    (['a', 'b', 'd'], True)
    """

    id: str
    documents: list
    is_contested: bool
    basis: Basis = field(default_factory=list)


@dataclass(frozen=True)
class Credit:
    """The outcome of crediting clicks on a list.

    Attributes
    ----------
    status : str
        "counted"; "added" to earlier clicks on the list, whose unit is open; "repeated": known clicks, nothing changed;
        "late": the unit was closed before, the clicks are kept but do not count; "uncontested": the rankers agree on
        the list; "no clicks" on its documents; "unknown": no such list was shown, or it was forgotten.
    not_shown : tuple of str
        Clicks on documents that the list does not have, which are ignored.

    Examples
    --------
    >>> import plackett as pk
    >>> test = pk.clicks.Interleaver(k=3, random_state=0)
    >>> shown = test.serve({"bm25": ["a", "b", "c"], "new": ["b", "d", "a"]}, key="session 17", unit="user 4")
    >>> test.credit(shown.id, ["d", "z"])
    Credit(status='counted', not_shown=('z',))
    """

    status: Status
    not_shown: tuple[str, ...] = ()


class Interleaver:
    """A test of two or more rankers by the clicks on lists that mix their results.

    Each request is served one list that mixes those of all rankers, and each click is credited to the rankers that
    would have shown the document. The list shown is a function of ``random_state``, the key of the request and the
    lists, so a repeated request shows the same list, in any process and order.

    The preference is a mean over *units*, such as users, so that a user with 100 sessions does not count as 100. Only
    lists with a click count. A unit counts once, by the mean over its first ``lists_per_unit`` clicked lists: values
    that were inspected must not change afterwards. Later clicks of the unit are kept but do not count.

    Parameters
    ----------
    method : str, default="team-draft"
        For two rankers: "team-draft", "optimised", or "balanced", which is biased; for two or more: "probabilistic",
        "team-draft-multileave", "pairwise-preference".
    k : int, default=10
        Documents in a list; at most 10 for "optimised".
    credit : {"linear", "inverse"}, default=None
        For method="optimised"; None means "linear".
    lists_per_unit : int, default=1
        Clicked lists after which a unit is closed. None closes units only by ``close``.
    random_state : int, default=None
        The seed. Ids of lists cannot be guessed without it; None draws 128 random bits, which are kept in the state.
    rankers : sequence of str, default=None
        Names of the rankers; None uses those of the first request.
    database : path, URL or sqlalchemy.Engine, default=None
        Where the state is kept, for several processes; a path is an SQLite file. None keeps it in memory (``to_json``).
        An existing test is resumed; its settings must be the same.
    test : str, default="test"
        Name of the test in the database.

    Examples
    --------
    >>> import plackett as pk
    >>> test = pk.clicks.Interleaver(k=3, random_state=0)
    >>> shown = test.serve({"bm25": ["a", "b", "c"], "new": ["b", "d", "a"]}, key="session 17", unit="user 4")
    >>> shown.documents
    ['a', 'b', 'd']
    >>> test.credit(shown.id, ["d"]).status
    'counted'
    >>> test.preference().mean
    -1.0
    """

    def __init__(
        self,
        method: str = "team-draft",
        *,
        k: int = 10,
        credit: str | None = None,
        lists_per_unit: int | None = 1,
        random_state: int | None = None,
        rankers: Sequence[str] | None = None,
        database: Any = None,
        test: str = "test",
    ):
        self._method = get_method(method, credit)
        self.method, self.k, self.test = method, check_positive_int(k, "k"), test
        if isinstance(self._method, Optimised) and self.k > LARGEST_K:
            raise ValueError(f'k={k}; method="optimised" tries all lists of at most {LARGEST_K} documents.')
        if lists_per_unit is not None:
            check_positive_int(lists_per_unit, "lists_per_unit")
        self.lists_per_unit = lists_per_unit
        if random_state is not None and (
            isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)) or random_state < 0
        ):
            raise ValueError(f"random_state={random_state!r}; a whole number from 0, or None, is needed.")
        self._seed = None if random_state is None else int(random_state)
        self._credit = credit
        self._rankers: list[str] | None = None
        self._state: State
        if database is None:
            self._state = MemoryState()
        else:
            with importing:
                from plackett.clicks.interleaving.sql import SqlState

            self._state = SqlState(database, test)
        if rankers is not None:
            self._fix(list(rankers))

    @property
    def rankers(self) -> list[str] | None:
        """The names of the rankers in the order of preferences; None before the first request."""
        return None if self._rankers is None else list(self._rankers)

    def serve(
        self, lists: Mapping[str, Sequence], *, key: Any = None, unit: Any = None, k: int | None = None
    ) -> ShownList:
        """Return the list to show for a request, and keep what its credit needs.

        Parameters
        ----------
        lists : mapping of ranker to its ranked document ids
            Ids are texts or whole numbers. Of a document that occurs twice in a list the first place counts, with a
            warning. Pass at least ``k`` ids if the ranker has them.
        key : str or int, default=None
            Identifies the request, such as the session and the query. The same key, unit and lists give the same list,
            which counts once. None draws a key.
        unit : str or int, default=None
            Identifies the unit, such as the user; None: the request is its own unit.
        k : int, default=None
            Documents of this list, if they are fewer than those of the test.

        Returns
        -------
        ShownList
        """
        shown = self.draw(lists, key=key, unit=unit, k=k)
        self.keep(shown, unit=unit)
        return shown

    def draw(
        self, lists: Mapping[str, Sequence], *, key: Any = None, unit: Any = None, k: int | None = None
    ) -> ShownList:
        """Return the list that ``serve`` would show, without keeping it: for services that log what they show.

        Parameters are those of ``serve``. Before clicks on the list are credited, it must be kept by ``keep``.
        """
        if self._rankers is None:
            self._fix(list(lists))
        names = self._rankers
        assert names is not None
        if len(lists) != len(names) or any(name not in lists for name in names):
            raise ValueError(
                f"this test compares {', '.join(names)}, but the lists are of {', '.join(map(str, lists))}."
            )
        n_shown = self.k if k is None else min(self.k, check_positive_int(k, "k"))
        texts, given = _as_texts([lists[name] for name in names], names)
        tops = [documents[:n_shown] for documents in texts]
        is_contested = any(top != tops[0] for top in tops) and sum(map(bool, tops)) > 1
        seed = self._seed
        assert seed is not None
        parts = [self.test, secrets.token_hex(16) if key is None else _name(key, "key"), _viewer(unit)]
        for documents in texts:
            parts += [str(len(documents)), *documents]
        if n_shown < self.k:
            parts.append(f"k {n_shown}")
        list_id = digest(seed, parts)
        if is_contested:
            shown, basis = self._method.draw(texts, n_shown, SeededDraws(int(list_id, 16)))
        else:
            shown, basis = max(tops, key=len), []
        return ShownList(list_id, [given[document] for document in shown], is_contested, basis)

    def keep(self, shown: ShownList, *, unit: Any = None) -> None:
        """Keep a list of ``draw``, so that its clicks can be credited; one that is known stays as it is."""
        documents = [_name(document, "a shown document") for document in shown.documents]
        unit_name = _viewer(unit) or f"list {shown.id}"
        self._state.add(ListRecord(shown.id, unit_name, documents, shown.basis, time.time()))

    def credit(self, shown: ShownList | str, clicks: Iterable) -> Credit:
        """Credit the clicks on a shown list, given as a `ShownList` or by its id.

        Pass all clicks of a list in one call if ``lists_per_unit`` is 1, as the unit is then closed. Calls may be
        repeated: a list is counted once.

        Parameters
        ----------
        shown : ShownList or str
        clicks : iterable of document ids
            Ids are compared as texts.

        Returns
        -------
        Credit
        """
        if isinstance(clicks, (str, bytes)):
            raise TypeError(f"clicks={clicks!r}; a list of document ids is needed.")
        texts = [_name(click, "a clicked document") for click in clicks]
        list_id = shown.id if isinstance(shown, ShownList) else shown
        if not isinstance(list_id, str):
            raise TypeError(f"shown={shown!r}; a ShownList or its id is needed.")
        rankers = self._known_rankers()
        if rankers is None:
            return Credit("unknown")
        change = self._state.change(
            list_id,
            lambda record, unit: credited(
                record,
                unit,
                texts,
                method=self._method,
                n_rankers=len(rankers),
                lists_per_unit=self.lists_per_unit,
                now=time.time(),
            ),
        )
        return Credit(change.status, change.not_shown)

    def close(self, unit: Any = None, *, idle: float = 0.0) -> int:
        """Close a unit, or all units, so that they count; return how many were closed.

        Parameters
        ----------
        unit : str or int, default=None
            None: all units that are open.
        idle : float, default=0.0
            Close only units whose last click was more than this many seconds ago.
        """
        name = None if unit is None else _viewer(unit)
        return self._state.close(name, time.time() - idle if idle else float("inf"))

    def forget(self, older_than: float) -> int:
        """Delete lists shown more than this many seconds ago, except those of open units; return how many.

        Their preference is kept. Clicks on them are "unknown" afterwards.
        """
        return self._state.forget(time.time() - older_than)

    def counts(self) -> dict[str, int]:
        """Return the numbers of kept lists, contested and clicked ones, of units, and of closed units."""
        return self._state.counts()

    def disconnect(self) -> None:
        """Close the connections to the database; the next call opens new ones. Call it before a process forks."""
        self._state.disconnect()

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

        Returns
        -------
        Preference
        """
        first, second, tally = self._tally(first, second)
        return preference_of(tally, first, second, level=level, margin=margin)

    def values(self, first: str | None = None, second: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of closed units, rounded to 0.0001, and how often each occurs."""
        low, high, counts = self._tally(first, second)[2].bounds()
        return (low + high) / 2, counts

    def preferences(self, *, level: float = 0.95, margin: float | None = None) -> list[Preference]:
        """Return the preferences of all pairs of rankers, whose intervals hold together (Bonferroni)."""
        pairs = list(combinations(self._known_rankers() or [], 2))
        share = 1 - (1 - level) / max(1, len(pairs))
        return [self.preference(first, second, level=share, margin=margin) for first, second in pairs]

    def to_json(self) -> str:
        """Return the settings and the state as JSON text."""
        if not isinstance(self._state, MemoryState):
            raise ValueError("the state of this test is in its database, which needs no JSON.")
        body = {"format": FORMAT, "version": VERSION, "options": self._options(), **self._state.to_dict()}
        return json.dumps(body, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Interleaver:
        """Return the test in the JSON text of ``to_json``."""
        try:
            body = json.loads(text)
            if body["format"] != FORMAT or body["version"] != VERSION:
                raise ValueError(f"format {body['format']!r}, version {body['version']!r}")
            loaded = cls(**{name: body["options"][name] for name in cls()._options()})
            loaded._state = MemoryState.from_dict(body)
            if body["settings"]:
                loaded._fix(list(body["settings"]["rankers"]))
        except (AttributeError, KeyError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"the text is not the state of an interleaved test of this version: {error}.") from error
        return loaded

    def _tally(self, first: str | None, second: str | None) -> tuple[str, str, Tally]:
        """Return the names of two rankers, and the values of their preference."""
        names = self._known_rankers()
        if names is None:
            raise ValueError("no list was served yet, so the rankers are not known. Pass rankers=[...] or call serve.")
        if first is None and second is None and len(names) == 2:
            first, second = names
        if first is None or second is None or first == second or not {first, second} <= set(names):
            raise ValueError(f"{first!r} and {second!r}: name two of the rankers {', '.join(names)}.")
        one, other = names.index(first), names.index(second)
        tally = self._state.tallies().get((min(one, other), max(one, other)), Tally())
        return first, second, tally if one < other else tally.reversed()

    def _options(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "k": self.k,
            "credit": self._credit,
            "lists_per_unit": self.lists_per_unit,
            "random_state": self._seed,
            "test": self.test,
        }

    def _known_rankers(self) -> list[str] | None:
        """Return the names of the rankers, which another process may have fixed."""
        if self._rankers is None and self._state.settings():
            self._take(self._state.settings())
        return self._rankers

    def _fix(self, names: list[str]) -> None:
        """Fix the rankers and the seed of the test, unless another process did it before."""
        names = [_name(name, "ranker") for name in names]
        if len(set(names)) < 2:
            raise ValueError(f"a test compares at least two rankers with different names; {len(names)} were given.")
        if self._method.takes_two and len(names) != 2:
            others = '"probabilistic", "team-draft-multileave" or "pairwise-preference"'
            raise ValueError(f"method={self.method!r} compares two rankers, not {len(names)}. Use {others}.")
        options = self._options()
        if self._seed is None:
            options["random_state"] = secrets.randbits(128)
        self._take(self._state.fix({**options, "rankers": names}))
        if set(self._rankers or ()) != set(names):
            raise ValueError(f"this test compares {', '.join(self._rankers or ())}, not {', '.join(names)}.")

    def _take(self, kept: dict[str, Any]) -> None:
        """Take the settings of the state; raise if they are not those of this object."""
        for name, value in self._options().items():
            if kept[name] != value and not (name == "random_state" and value is None):
                raise ValueError(
                    f"the test {self.test!r} was started with {name}={kept[name]!r}, not {value!r}. Use the same "
                    "settings, or another name for a new test."
                )
        self._seed, self._rankers = kept["random_state"], list(kept["rankers"])


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
        own = {}
        n_given = 0
        for document in documents:
            text = document if type(document) is str else _name(document, f"a document of {name}")
            own[text] = document
            n_given += 1
        if len(own) < n_given:
            warn(f"{name} returned a document twice; the first place counts.", DataWarning)
        for text, document in own.items():
            given.setdefault(text, document)
        texts.append(list(own))
    return texts, given
