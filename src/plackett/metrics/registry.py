"""The registry of measures: name, function and parameters. The modules of measures fill it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

if TYPE_CHECKING:
    from plackett.metrics.judged_lists import JudgedLists
    from plackett.metrics.own import OwnFunction

NOT_PARAMETERS = ("qid", "docid", "k", "empty")  # of every measure, or given in another way
Measuring = TypeVar("Measuring", bound=Callable[..., Any])
Cutoff = Literal["none", "optional", "required"]


@dataclass(frozen=True)
class MeasureKind:
    """A family of measures such as NDCG, with its public function and the defaults of its own parameters."""

    name: str
    aliases: tuple[str, ...]
    cutoff: Cutoff
    higher_is_better: bool
    function: Callable[..., Any]
    defaults: dict[str, object]
    empty: object = None  # the value of empty queries under every convention; None follows the convention
    takes_unjudged: bool = False  # whether labels may be NaN
    needs_subtopics: bool = False
    own: OwnFunction | None = None  # a function of a user

    @property
    def is_own(self) -> bool:
        """Whether it is a function of a user."""
        return self.own is not None

    def compute(self, lists: JudgedLists, **parameters: object) -> np.ndarray:
        """Return a value per query, NaN if it is empty."""
        return self.function(lists, None, empty="skip", **parameters)


KINDS: dict[str, MeasureKind] = {}
ALIASES: dict[str, str] = {}
OWN_KINDS: dict[str, MeasureKind] = {}  # those that users have registered, by names as in ALIASES


def as_key(name: str) -> str:
    """Return a name in the form of the keys of the registry: ignoring case, with ``_`` and ``-`` equal."""
    return name.strip().lower().replace("_", "-")


def measure_kind(name: str, *aliases: str, cutoff: Cutoff, higher_is_better: bool = True, **others: Any):
    """Register a function of ``(labels, scores, *, qid, ...)`` as the measure ``name``.

    Its other keywords are the measure's parameters. Measures call it with ``JudgedLists`` instead of labels. A function
    whose default of ``empty`` is "skip" leaves empty queries out under every convention. ``others`` are further fields
    of the ``MeasureKind``.
    """

    def register(function: Measuring) -> Measuring:
        keywords = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        defaults = {p.name: p.default for p in keywords if p.name not in NOT_PARAMETERS}
        empty = next((p.default for p in keywords if p.name == "empty" and p.default == "skip"), None)
        KINDS[name] = MeasureKind(name, aliases, cutoff, higher_is_better, function, defaults, empty, **others)
        for alias in (name, *aliases):
            ALIASES[alias] = name
        return function

    return register
