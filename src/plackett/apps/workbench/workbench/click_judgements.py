"""Use cases of judgements from clicks, which are kept apart from those of people, and used only on request."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.errors import client_errors
from plackett.apps.workbench.limits import MAX_QUERY
from plackett.apps.workbench.records import ClickGrade, ClickSet, Judgement
from plackett.apps.workbench.schemas.clicks import (
    ClickGradeResponse,
    ClickGradesResponse,
    ClickJudgeRequest,
    ClickSetResponse,
    ClickSetsResponse,
)
from plackett.apps.workbench.schemas.training import JobResponse
from plackett.apps.workbench.workbench.click_logs import ClickLogs
from plackett.apps.workbench.workbench.jobs import JobRunner
from plackett.validation import count_of

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store
    from plackett.apps.workbench.workbench.training import Progress
    from plackett.clicks.judgements import Judgements


class ClickJudgements:
    """The sets of judgements from clicks of a collection. Thread-safe."""

    def __init__(self, collection: Collection, store: Store, logs: ClickLogs, jobs: JobRunner):
        self._collection, self._store, self._logs, self._jobs = collection, store, logs, jobs

    def judge(self, request: ClickJudgeRequest) -> JobResponse:
        """Start a job that fits a click model to a stored log, and saves its judgements as a new set."""
        with client_errors():
            self._store.click_log(self._collection.key, request.log_id)

        def work(job_id: int, progress: Progress, cancel: threading.Event) -> dict[str, Any]:
            from plackett._warnings import recorded
            from plackett.apps.workbench.workbench.training import Cancelled
            from plackett.clicks.models.registry import get_click_model

            progress(0.0, "Loading the log")
            with self._logs.loaded(request.log_id) as (name, log), recorded() as caught:
                progress(0.1, f"Fitting {request.model} to {count_of(len(log), 'session')}")
                model = get_click_model(request.model).fit(log)
                progress(0.7, "Grading")
                found = model.judgements(
                    log, grades=request.grades, min_impressions=request.min_impressions, lower=request.lower
                )
            if cancel.is_set():
                raise Cancelled("the grading was cancelled.")
            progress(0.9, "Saving the judgements")
            made = self._save(request, name, found, [str(one.message) for one in caught])
            return {"set_id": made.id, "origin": made.origin, **made.summary}

        return self._jobs.start("judge clicks", request.model_dump(), work)

    def _save(self, request: ClickJudgeRequest, name: str, found: Judgements, notes: list[str]) -> ClickSet:
        graded = list(_grades(found))
        missing = self._collection.missing(list(dict.fromkeys(one.docid for one in graded)))
        kept = [one for one in graded if one.docid not in missing and 0 < len(one.query) <= MAX_QUERY]
        if not kept:
            left_out = ", ".join(f"{reason}: {count:,}" for reason, count in found.left_out.items() if count)
            if graded:
                raise ValueError(
                    f"no document of {self._collection.name} can be graded: the log has enough evidence for "
                    f"{count_of(len(graded), 'pair')} of query and document ({graded[0].docid!r}, for example), but "
                    f"the collection has none of these documents, or the queries are longer than {MAX_QUERY:,} "
                    "characters. Import a log of this collection."
                )
            raise ValueError(
                f"no document of {self._collection.name} can be graded: no pair of query and document has enough "
                f"evidence{f' ({left_out})' if left_out else ''}. Require fewer impressions, or use a larger log."
            )
        if len(kept) < len(found):
            n_other = count_of(len(found) - len(kept), "pair has a document", "pairs have documents")
            notes.append(f"{n_other} that {self._collection.name} does not have.")
        summary = {
            "model": request.model,
            "log": name,
            "log_id": request.log_id,
            "n_judgements": len(kept),
            "n_queries": len({one.query for one in kept}),
            "min_impressions": request.min_impressions,
            "lower": request.lower,
            "cuts": found.cuts.tolist(),
            "level": found.level,
            "left_out": dict(found.left_out),
            "notes": notes,
        }
        return self._store.save_click_set(self._collection.key, f"{request.model}, log {name}", kept, summary)

    def sets(self) -> ClickSetsResponse:
        """Return the sets, newest first."""
        found = self._store.click_sets(self._collection.key)
        return ClickSetsResponse(sets=[ClickSetResponse(**one._asdict()) for one in found])

    def grades(self, set_id: int, limit: int, offset: int) -> ClickGradesResponse:
        """Return judgements of a set, each with the mean grade that people gave, if any."""
        made = self.find(set_id)
        with client_errors():
            page = self._store.click_grades_page(set_id, limit=limit, offset=offset)
        people = self._people({one.query for one in page})
        rows = [ClickGradeResponse(**one._asdict(), people=people.get((one.query, one.docid))) for one in page]
        return ClickGradesResponse(
            set=ClickSetResponse(**made._asdict()), total=made.summary["n_judgements"], grades=rows
        )

    def find(self, set_id: int) -> ClickSet:
        """Return a set of this collection by its id."""
        with client_errors():
            return self._store.click_set(self._collection.key, set_id)

    def labels(self, made: ClickSet, query: str) -> dict[str, ClickGrade]:
        """Return the judgements of a query by document; logs have queries in one case, with single spaces."""
        from plackett.clicks.reading.lists import normalized

        for text in dict.fromkeys((query, normalized(query))):
            found = self._store.click_grades(self._collection.key, made.id, text) if text else []
            if found:
                return {one.docid: one for one in found}
        return {}

    def latest(self, query: str) -> tuple[ClickSet | None, dict[str, ClickGrade]]:
        """Return the newest set, which pages show, and its judgements of a query."""
        made = self._store.latest_click_set(self._collection.key)
        return made, {} if made is None else self.labels(made, query)

    def as_judgements(self, set_id: int) -> tuple[ClickSet, Iterator[Judgement]]:
        """Return a set, and its grades in the form of judgements, for training and export instead of people's."""
        made = self.find(set_id)
        user = origin(made)
        return made, (
            Judgement(user, one.query, one.docid, float(one.grade), made.created)
            for one in self._store.all_click_grades(set_id)
        )

    def all_grades(self, set_id: int) -> Iterator[ClickGrade]:
        """Yield all judgements of a set."""
        return self._store.all_click_grades(set_id)

    def delete(self, set_id: int) -> ClickSetsResponse:
        """Delete a set."""
        with client_errors():
            if not self._store.delete_click_set(self._collection.key, set_id):
                raise LookupError(f"there is no set of click judgements {set_id}.")
        return self.sets()

    def _people(self, queries: set[str]) -> dict[tuple[str, str], float]:
        """Return the mean grades of people, by query as the log spells it and document."""
        from plackett.clicks.reading.lists import normalized

        grades: dict[tuple[str, str], list[float]] = {}
        for one in self._store.judgements(self._collection.key):
            for text in dict.fromkeys((one.query, normalized(one.query))):
                if text in queries:
                    grades.setdefault((text, one.docid), []).append(one.grade)
        return {pair: sum(values) / len(values) for pair, values in grades.items()}


def origin(made: ClickSet) -> str:
    """Return a description of the source of judgements."""
    return f"clicks: {made.origin}, {made.created:%Y-%m-%d}"


def _grades(found: Judgements) -> Iterator[ClickGrade]:
    columns = (getattr(found, name).tolist() for name in ClickGrade._fields)
    return (ClickGrade(*row) for row in zip(*columns, strict=True))
