"""The methods of interleaving by their names."""

from __future__ import annotations

from plackett.clicks.interleaving.method import Method
from plackett.clicks.interleaving.optimised import Optimised
from plackett.clicks.interleaving.pairwise import PairwisePreference
from plackett.clicks.interleaving.probabilistic import Probabilistic
from plackett.clicks.interleaving.team_draft import TeamDraft, TeamDraftMultileave
from plackett.validation import check_choice

KINDS: tuple[type[Method], ...] = (TeamDraft, Probabilistic, Optimised, TeamDraftMultileave, PairwisePreference)
METHODS = {kind.name: kind for kind in KINDS}


def get_method(name: str, credit: str | None = None) -> Method:
    """Return a method by its name; ``credit`` is that of "optimised"."""
    check_choice(name, "method", tuple(METHODS))
    if credit is None:
        return METHODS[name]()
    if name != Optimised.name:
        raise ValueError(f'credit={credit!r} is an option of method="optimised"; method={name!r} has one credit.')
    return Optimised(credit)
