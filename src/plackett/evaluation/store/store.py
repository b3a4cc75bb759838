"""Where the results of one contestant in one fold stand in a store, and under which keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plackett.evaluation.compare.contestants import Contestant
from plackett.evaluation.store import fingerprints, recognition
from plackett.evaluation.store.runs import Record, RunStore, has_kinds
from plackett.evaluation.store.settings import with_setting
from plackett.metrics.conventions import Convention
from plackett.metrics.measure import Measure

# what records hold; where one holds anything else, its result is made again
TRIAL = {"validation": float, "seconds": float, "warnings": list}
SCORES = {"chosen": int, "fit": dict, "warnings": list}
FIT = {"validation": float, "seconds": float, "history": list | None}


class Shelf:
    """Trials of settings, by their place in the grid, and the scores of the best; without a store all are missing.

    Parameters
    ----------
    store : RunStore or None
    candidates : list of estimators, not fitted
        One for each setting.
    fold : int
    content : mapping of str to str
        Hashes of the fold's "train", "validation" and "test" queries.
    select_by : Measure
    convention : Convention
    """

    def __init__(
        self,
        store: RunStore | None,
        candidates: Sequence[Any],
        *,
        fold: int,
        content: Mapping[str, str],
        select_by: Measure,
        convention: Convention,
    ):
        self._store = store
        if store is None:
            return
        try:
            self._candidates = [recognition.of_value(candidate) for candidate in candidates]
            self._codes = [fingerprints.of_code(candidate) for candidate in candidates]
        except recognition.Unrecognisable:  # its results could be those of another estimator
            self._store = None
            return
        self._test = content["test"]
        self._common = {
            "fold": fold,
            "train": content["train"],
            "validation": content["validation"],
            "select_by": recognition.of_value(select_by),
            "convention": convention_key(convention),
        }

    def trial(self, place: int) -> dict[str, Any] | None:
        """What a setting reached."""
        stored = None if self._store is None else self._store.get(self._key_of_trial(place), TRIAL)
        return None if stored is None else stored.values

    def put_trial(self, place: int, values: Mapping[str, Any]) -> None:
        if self._store is not None:
            self._store.put(self._key_of_trial(place), values)

    def scores(self, places: Sequence[int], n_docs: int) -> Record | None:
        """Who was chosen among these settings, and its scores of the test documents."""
        stored = None if self._store is None else self._store.get(self._key_of_scores(places), SCORES)
        if stored is None or stored.array is None:
            return None
        if stored.array.shape != (n_docs,) or stored.array.dtype != np.float64:
            return None
        is_whole = stored.values["chosen"] in range(len(places)) and has_kinds(stored.values["fit"], FIT)
        return stored if is_whole else None

    def put_scores(self, places: Sequence[int], record: Record) -> None:
        if self._store is not None:
            self._store.put(self._key_of_scores(places), record.values, record.array)

    def _key_of_trial(self, place: int) -> dict[str, Any]:
        return {"what": "setting", "estimator": self._candidates[place], "code": self._codes[place], **self._common}

    def _key_of_scores(self, places: Sequence[int]) -> dict[str, Any]:
        return {
            "what": "scores",
            "estimators": [self._candidates[place] for place in places],
            "test": self._test,
            "code": [self._codes[place] for place in places],
            **self._common,
        }


def not_kept(contestant: Contestant) -> list[str]:
    """A note if no other run could recognise the contestant, such as one that holds an open file."""
    try:
        for setting in contestant.settings():
            recognition.of_value(with_setting(contestant.estimator, setting))
    except recognition.Unrecognisable as problem:
        return [f"{contestant.name} is not kept in the folder: {problem}"]
    return []


def convention_key(convention: Convention) -> Any:
    """The rules of a convention as part of a key."""
    return recognition.of_value(dataclasses.asdict(convention))
