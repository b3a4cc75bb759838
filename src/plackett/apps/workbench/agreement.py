"""The agreement of users with each other and with themselves.

Modules that learn and measure are imported where they are used, because loading them takes longest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from plackett.apps.workbench.store import Judged, JudgedList
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


def summarise(lists: Iterable[JudgedList]) -> Summary:
    """Return counts, agreement and contradictions of current judgements.

    ``agreement`` is about documents that several users judged: ``equal`` is the share of pairs of users with the same
    grade, ``alpha`` Krippendorff's alpha with squared differences, 1 for perfect agreement and 0 for chance.
    ``contradictions`` are those of single users: ``changed`` grades, without an undo, ``opposite`` judgements (a
    preference for the lower grade), and ``circles``, the cycles of preferences between three or more documents.
    """
    from plackett.apps.workbench.refining import feedback_of

    judged = [one for one in lists if one.state.n_judgements]
    states = [(one.query.id, one.state.judged) for one in judged]
    users, queries = {one.user.id for one in judged}, {query for query, _ in states}
    documents = {
        docid for _, (labels, pairs) in states for docid in (*labels, *(one for pair in pairs for one in pair))
    }
    counts = Counter(f"{grade:g}" for _, (labels, _) in states for grade in labels.values())
    n_graded, n_preferences = counts.total(), sum(len(pairs) for _, (_, pairs) in states)
    n_queries, n_users = count_of(len(queries), "query", "queries"), count_of(len(users), "user")
    preferred = [own for _, own in states if own.pairs]
    return Summary(
        n_users=len(users),
        n_queries=len(queries),
        n_documents=len(documents),
        n_judgements=n_graded,
        n_preferences=n_preferences,
        grades=dict(sorted(counts.items(), key=lambda item: float(item[0]))),
        agreement=agreement_of(judged),
        contradictions=Contradictions(
            changed=sum(len(one.state.changed) for one in judged),
            opposite=sum(feedback_of(own).n_contradictory for own in preferred),
            circles=sum(map(_n_cycles, preferred)),
        ),
        words=f"{count_of(n_graded, 'judgement')} and {count_of(n_preferences, 'preference')} on {n_queries} by "
        f"{n_users}.",
    )


def _grades_by_document(
    lists: Iterable[JudgedList], spelled: Callable[[str], str] = str
) -> dict[tuple[str, str], dict[str, float]]:
    """Return grades by query, document and user."""
    by_document: dict[tuple[str, str], dict[str, float]] = {}
    for one in lists:
        for docid, (grade, _) in one.state.grades.items():
            by_document.setdefault((spelled(one.query.text), docid), {})[one.user.name] = grade
    return by_document


def disputes(lists: Iterable[JudgedList]) -> list[Dispute]:
    """Return the documents that users graded differently, the largest differences first."""
    found = [
        Dispute(query, docid, grades)
        for (query, docid), grades in _grades_by_document(lists).items()
        if len(set(grades.values())) > 1
    ]
    found.sort(key=lambda one: (min(one.grades.values()) - max(one.grades.values()), one.query, one.docid))
    return found


def agreement_of(lists: list[JudgedList]) -> Agreement:
    """Return the agreement of users on the documents that several of them judged."""
    import numpy as np

    from plackett.evaluation.agreement import grade_agreement

    by_document = _grades_by_document(lists)
    units = np.repeat(np.arange(len(by_document)), [len(grades) for grades in by_document.values()])
    found = grade_agreement(units, [grade for grades in by_document.values() for grade in grades.values()])
    return Agreement(
        n_shared=found.n_units,
        n_pairs=found.n_pairs,
        equal=None if np.isnan(found.equal) else found.equal,
        alpha=None if np.isnan(found.alpha) else found.alpha,
        disputed=disputes(lists)[:DISPUTES_SHOWN],
    )


def agreement_with_people(own: Iterable[JudgedList], people: Iterable[JudgedList]) -> str:
    """Return in words how an annotator agrees with people's mean grades, rounded halves down; empty without any."""
    import numpy as np

    from plackett.clicks.reading.lists import normalized
    from plackett.evaluation.judges.kappa import kappa

    # queries are also found in the spelling of logs
    grades = {pair: sum(of.values()) / len(of) for pair, of in _grades_by_document(people, normalized).items()}
    pairs = {pair: grade for pair, of in _grades_by_document(own, normalized).items() for grade in of.values()}
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


def _n_cycles(judged: Judged) -> int:
    """Return the number of strongly connected components of three or more documents."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {
        docid: place for place, docid in enumerate(dict.fromkeys(docid for pair in judged.pairs for docid in pair))
    }
    better, worse = ([number[pair[side]] for pair in judged.pairs] for side in (0, 1))
    graph = coo_array((np.ones(len(better)), (better, worse)), shape=(len(number), len(number)))
    groups = connected_components(graph.tocsr(), directed=True, connection="strong")[1]
    return int((np.bincount(groups) > 2).sum())
