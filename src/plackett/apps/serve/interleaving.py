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
from plackett.apps.serve.models import ModelTable
from plackett.apps.serve.ranking import Ranked, rank_by
from plackett.apps.serve.settings import InterleaveSettings
from plackett.clicks.interleaving.interleaver import Interleaver

DEPTH = 50  # documents of each ranking that can be drawn, if the test has a smaller k


class Mixer:
    """Mixes the results of the models of a test."""

    def __init__(self, settings: InterleaveSettings, table: ModelTable, metrics: Metrics, seed: int):
        self._settings, self._table, self._metrics, self._seed = settings, table, metrics, seed

    @property
    def is_slow(self) -> bool:
        """Whether mixing may take milliseconds, for which the event loop should not wait."""
        return self._settings.method == "optimised"

    def mix(self, ranked: Ranked) -> Ranked:
        """Return the list of a request, with the order of the test if it takes part."""
        request = ranked.request
        if "@" in (request.model or "") or ranked.model.spec.key != self._settings.rankers[0]:
            return ranked
        if not request.ids or request.query is None:
            reason = "no ids or query"
        elif request.explain or not request.user:
            reason = "explain" if request.explain else "no user"
        else:
            try:
                return self._mixed(ranked, request.ids)
            except (RequestError, ValueError) as error:  # such as a value that only the other model refuses
                log_event("not interleaved", logging.WARNING, error=str(error))
                reason = "failed"
        self._metrics.interleaving_skipped.labels(reason).inc()
        return ranked

    def _mixed(self, ranked: Ranked, ids: list[str]) -> Ranked:
        others = [self._table.get(key) for key in self._settings.rankers[1:]]
        models, orders = [ranked.model, *others], [ranked.order, *(rank_by(model, ranked) for model in others)]
        method, k, keys = self._settings.method, self._settings.k, list(self._settings.rankers)
        named = ", ".join(f"{model.spec.key} {model.short_checksum}" for model in models)
        test = Interleaver(method, k=k, random_state=self._seed, rankers=keys, test=f"{named}; {method}, k {k}")
        request = ranked.request
        depth = max(DEPTH, k)
        tops = [[ids[row] for row in order[:depth].tolist()] for order in orders]
        lists = dict(zip(keys, tops, strict=True))
        drawn = test.draw(lists, key=request.query, unit=request.user, k=request.k)
        row_of = {docid: row for row, docid in enumerate(ids)}
        rows = np.array([row_of[docid] for docid in drawn.documents], dtype=ranked.order.dtype)
        rest = ranked.order[~np.isin(ranked.order, rows)]  # further documents are those of the first model
        rankers = [{"model": one.spec.key, "version": one.version, "checksum": one.short_checksum} for one in models]
        mixed: dict[str, Any] = {
            "test": test.test,
            "method": method,
            "k": k,
            "rankers": rankers,
            "list": drawn.id,
            "n_mixed": len(rows),
            "basis": drawn.basis,
        }
        if method.startswith("team-draft"):  # the model that picked a document; None if its clicks are not credited
            mixed["teams"] = [keys[int(np.argmax(row))] if max(row) > 0 else None for row in drawn.basis]
        self._metrics.interleaved.inc()
        return replace(ranked, shown=np.concatenate([rows, rest]), mixed=mixed)


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
