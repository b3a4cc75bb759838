"""Lists that mix the results of several models; the log has all that the verdict needs.

The documents of a list are a function of the folder's seed, the user, the query and the rankings, so workers share
nothing else. A test is named after the checksums of its models: a swapped model starts a new test.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np

from plackett.apps.access.errors import RequestError
from plackett.apps.serve.logs import log_event
from plackett.apps.serve.metrics import Metrics
from plackett.apps.serve.models import ModelTable, ServedModel
from plackett.apps.serve.ranking import Ranked, rows_for, score_lists
from plackett.apps.serve.settings import InterleaveSettings
from plackett.clicks.interleaving.interleaver import Interleaver

DEPTH = 50  # documents of each ranking that can be drawn, if the test has a smaller k


class Mixer:
    """Mixes the results of the models of a test.

    Parameters
    ----------
    settings : InterleaveSettings
    table : ModelTable
    metrics : Metrics
    seed : int
    """

    def __init__(self, settings: InterleaveSettings, table: ModelTable, metrics: Metrics, seed: int):
        self._settings, self._table, self._metrics, self._seed = settings, table, metrics, seed

    @property
    def is_slow(self) -> bool:
        """Whether mixing may take milliseconds, for which the event loop should not wait."""
        return self._settings.method == "optimised"

    def mix(self, ranked: Ranked) -> Ranked:
        """Return the lists of a request, those that take part with the orders of the test."""
        if ranked.names_version or ranked.model.spec.key != self._settings.rankers[0]:
            return ranked
        numbers = [number for number, one in enumerate(ranked.lists) if one.ids and one.query is not None]
        if len(numbers) < len(ranked.lists):
            self._skip("no ids or query", len(ranked.lists) - len(numbers))
        reason = "explain" if ranked.n_explained else "no user" if not ranked.user else None
        if reason is not None:
            self._skip(reason, len(numbers))
            return ranked
        try:
            return self._mixed(ranked, numbers)
        except (RequestError, ValueError) as error:  # such as a value that only the other model refuses
            self._skip("failed", len(numbers))
            message = error.message if isinstance(error, RequestError) else str(error)
            log_event("not interleaved", logging.WARNING, error=message)
            return ranked

    def _mixed(self, ranked: Ranked, numbers: list[int]) -> Ranked:
        models = [ranked.model, *(self._table.get(key) for key in self._settings.rankers[1:])]
        test = self._test(models)
        orders = [[ranked.orders[number] for number in numbers]]
        for model in models[1:]:
            rows = [rows_for(model, ranked, number) for number in numbers]
            orders.append([np.argsort(-scores, kind="stable") for scores in score_lists(model, rows)])
        rankers = [{"model": one.spec.key, "version": one.version, "checksum": one.short_checksum} for one in models]
        about: dict[str, Any] = {"test": test.test, "method": test.method, "k": test.k, "rankers": rankers}
        mixed, mixed_orders = {}, {}
        for number, *own in zip(numbers, *orders, strict=True):
            ids, query = ranked.lists[number].ids, ranked.lists[number].query
            assert ids is not None
            depth = max(DEPTH, test.k)
            lists = {
                model.spec.key: [ids[place] for place in order[:depth].tolist()]
                for model, order in zip(models, own, strict=True)
            }
            shown = test.draw(lists, key=query, unit=ranked.user, k=ranked.k)
            place_of = {docid: place for place, docid in enumerate(ids)}
            places = [place_of[docid] for docid in shown.documents]
            rest = own[0][~np.isin(own[0], places)]  # further documents are those of the first model
            mixed_orders[number] = np.concatenate([np.array(places, dtype=own[0].dtype), rest])
            mixed[number] = {**about, "list": shown.id, "n_mixed": len(places), "basis": shown.basis}
            if test.method.startswith("team-draft"):
                mixed[number]["teams"] = [_team(row, rankers) for row in shown.basis]
        self._metrics.add("interleaved_total", value=len(numbers))
        return replace(ranked, mixed=mixed, mixed_orders=mixed_orders)

    def _test(self, models: list[ServedModel]) -> Interleaver:
        method, k, rankers = self._settings.method, self._settings.k, list(self._settings.rankers)
        named = ", ".join(f"{model.spec.key} {model.short_checksum}" for model in models)
        return Interleaver(method, k=k, random_state=self._seed, rankers=rankers, test=f"{named}; {method}, k {k}")

    def _skip(self, reason: str, n_lists: int) -> None:
        self._metrics.add("interleaving_skipped_total", f'reason="{reason}"', n_lists)


def _team(credits: list[float], rankers: list[dict[str, str]]) -> str | None:
    """Return the model that picked a document; None if its clicks are not credited."""
    best = max(range(len(credits)), key=credits.__getitem__)
    return rankers[best]["model"] if credits[best] > 0 else None


def checked(settings: InterleaveSettings, table: ModelTable) -> InterleaveSettings:
    """Return settings with the keys of the models; raise a ValueError unless a test of them can run."""
    try:
        models = [table.get(key) for key in settings.rankers]
    except RequestError as error:
        raise ValueError(f"--interleave: {error.message} {error.hint}") from None
    keys = tuple(model.spec.key for model in models)
    try:
        Interleaver(settings.method, k=settings.k, rankers=keys)
    except ValueError as error:
        raise ValueError(f"--interleave {','.join(settings.rankers)}: {error}") from None
    for model in models[1:]:
        if not model.schema.is_same(models[0].schema):
            raise ValueError(
                f"--interleave: {model.spec.key} has different features ({model.schema.n:,}) than {models[0].spec.key} "
                f"({models[0].schema.n:,}), but both rank the same documents."
            )
    return settings._replace(rankers=keys)
