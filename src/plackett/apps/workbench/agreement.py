"""The agreement of users with each other and with themselves.

Modules that learn and measure are imported where they are used, because loading them takes longest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from plackett.apps.workbench.store import Judgement, Preference
from plackett.validation import count_of

DISPUTES_SHOWN = 20


@dataclass(frozen=True)
class Dispute:
    """A document that users graded differently."""

    query: str
    docid: str
    grades: dict[str, float]


@dataclass(frozen=True)
class Agreement:
    """Agreement of users: the share of equal grades, and Krippendorff's alpha; null if there is nothing to compare."""

    n_shared: int
    n_pairs: int
    equal: float | None
    alpha: float | None
    disputed: list[Dispute]


@dataclass(frozen=True)
class Contradictions:
    """Contradictions within the judgements of one user."""

    changed: int
    opposite: int
    circles: int


@dataclass(frozen=True)
class Summary:
    """Statistics of all judgements."""

    n_users: int
    n_queries: int
    n_documents: int
    n_judgements: int
    n_preferences: int
    grades: dict[str, int]
    agreement: Agreement
    contradictions: Contradictions
    words: str


def summarise(judgements: Iterable[Judgement], preferences: Iterable[Preference] = (), n_changed: int = 0) -> Summary:
    """Return counts, agreement and contradictions of current judgements; ``n_changed`` counts replaced grades.

    ``agreement`` is about documents that several users judged: ``equal`` is the share of pairs of users with the same
    grade, ``alpha`` Krippendorff's alpha with squared differences, 1 for perfect agreement and 0 for chance.
    ``contradictions`` are those of single users: ``changed`` grades, ``opposite`` preferences (or a preference for the
    lower grade), and ``circles``, the cycles of preferences between three or more documents.
    """
    graded, preferred = list(judgements), list(preferences)
    every: list[Judgement | Preference] = [*graded, *preferred]
    users, queries = {one.user for one in every}, {one.query for one in every}
    documents = {one.docid for one in every} | {one.other for one in preferred}
    counts = Counter(f"{one.grade:g}" for one in graded)
    n_judgements = count_of(len(graded), "judgement")
    n_queries, n_users = count_of(len(queries), "query", "queries"), count_of(len(users), "user")
    return Summary(
        n_users=len(users),
        n_queries=len(queries),
        n_documents=len(documents),
        n_judgements=len(graded),
        n_preferences=len(preferred),
        grades=dict(sorted(counts.items(), key=lambda item: float(item[0]))),
        agreement=agreement_of(graded),
        contradictions=Contradictions(n_changed, *_contradictions(graded, preferred)),
        words=f"{n_judgements} and {count_of(len(preferred), 'preference')} on {n_queries} by {n_users}.",
    )


def _grades_by_document(latest: list[Judgement]) -> dict[tuple[str, str], dict[str, float]]:
    by_document: dict[tuple[str, str], dict[str, float]] = {}
    for one in latest:
        by_document.setdefault((one.query, one.docid), {})[one.user] = one.grade
    return by_document


def disputes(latest: list[Judgement]) -> list[Dispute]:
    """Return the documents that users graded differently, the largest differences first."""
    found = [
        Dispute(query, docid, grades)
        for (query, docid), grades in _grades_by_document(latest).items()
        if len(set(grades.values())) > 1
    ]
    found.sort(key=lambda one: (min(one.grades.values()) - max(one.grades.values()), one.query, one.docid))
    return found


def agreement_of(latest: list[Judgement]) -> Agreement:
    """Return the agreement of users on the documents that several of them judged."""
    import numpy as np

    from plackett.evaluation.agreement import grade_agreement

    by_document = _grades_by_document(latest)
    units = np.repeat(np.arange(len(by_document)), [len(grades) for grades in by_document.values()])
    found = grade_agreement(units, [grade for grades in by_document.values() for grade in grades.values()])
    return Agreement(
        n_shared=found.n_units,
        n_pairs=found.n_pairs,
        equal=None if np.isnan(found.equal) else found.equal,
        alpha=None if np.isnan(found.alpha) else found.alpha,
        disputed=disputes(latest)[:DISPUTES_SHOWN],
    )


def agreement_with_people(own: Iterable[Judgement], people: Iterable[Judgement]) -> str:
    """Return in words how an annotator agrees with people's mean grades, rounded halves down; empty without any."""
    import numpy as np

    from plackett.evaluation.judges.kappa import kappa

    # queries are also found in the spelling of logs: one case, single spaces
    by_document = _grades_by_document([one._replace(query=_spelled(one.query)) for one in people])
    grades = {pair: sum(found.values()) / len(found) for pair, found in by_document.items()}
    pairs = {(_spelled(one.query), one.docid): one.grade for one in own}
    shared = [(pair[0], grades[pair], grade) for pair, grade in pairs.items() if pair in grades]
    if not shared:
        return ""
    both = np.ceil(np.array([pair for _, *pair in shared]) - 0.5)
    scale, codes = np.unique(both, return_inverse=True)
    places = codes.reshape(both.shape)
    queries = [query for query, *_ in shared]
    found = kappa(places[:, 0], places[:, 1], n_grades=max(2, scale.size), queries=queries)
    words = f"the grade of people for {100 * found.equal:.0f} % of {count_of(len(shared), 'document')}"
    if np.isnan(found.value):
        return words
    interval = "" if np.isnan(found.low) else f" ({found.low:.2f} to {found.high:.2f})"
    return f"{words}; by chance {100 * found.chance:.0f} %, kappa {found.value:.2f}{interval}"


def _spelled(query: str) -> str:
    return " ".join(query.split()).casefold()


def _contradictions(graded: list[Judgement], preferred: list[Preference]) -> tuple[int, int]:
    """Return the numbers of opposite pairs and of cycles, user by user."""
    from plackett.data.feedback.feedback import Feedback

    opposite = circles = 0
    for user in dict.fromkeys(one.user for one in preferred):
        own = [one for one in preferred if one.user == user and one.docid != one.other]
        grades = [one for one in graded if one.user == user]
        feedback = Feedback.from_pairs(
            [one.query for one in own], [one.docid for one in own], [one.other for one in own]
        ) + Feedback.from_judgements(
            [one.query for one in grades], [one.docid for one in grades], [one.grade for one in grades]
        )
        opposite += feedback.n_contradictory
        for query in dict.fromkeys(one.query for one in own):
            circles += _n_cycles([(one.docid, one.other) for one in own if one.query == query])
    return opposite, circles


def _n_cycles(pairs: list[tuple[str, str]]) -> int:
    """Return the number of strongly connected components of three or more documents."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {docid: place for place, docid in enumerate(dict.fromkeys(docid for pair in pairs for docid in pair))}
    better, worse = ([number[pair[side]] for pair in pairs] for side in (0, 1))
    graph = coo_array((np.ones(len(pairs)), (better, worse)), shape=(len(number), len(number)))
    groups = connected_components(graph.tocsr(), directed=True, connection="strong")[1]
    return int((np.bincount(groups) > 2).sum())
