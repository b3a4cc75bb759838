"""Interleaved tests of models: lists that mix their results, credit for clicks, and the running verdict.

The documents of a list are a function of the test's seed, the user, the query and the rankings, so workers need no
shared state. The log has all data for crediting clicks; lists and units with clicks are also in a database beside the
log, from which the verdict can be read at any time. A test is named after the checksums of its models: a swapped model
starts a new test.
"""

from __future__ import annotations

import logging
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sqlalchemy.exc import SQLAlchemyError

from plackett.apps.access.errors import RequestError
from plackett.apps.serve.logs import log_event
from plackett.apps.serve.metrics import Metrics
from plackett.apps.serve.models import ModelTable, ServedModel
from plackett.apps.serve.ranking import Ranked, rows_for, score_lists
from plackett.apps.serve.settings import InterleaveSettings
from plackett.clicks.interleaving.from_log import LoggedList
from plackett.clicks.interleaving.interleaver import Interleaver
from plackett.clicks.interleaving.sql import stored_settings
from plackett.exceptions import StoreError
from plackett.storage.postgresql import is_postgresql, location_of, message_of

FILE = "interleaving.db"  # in the folder of the log
DEPTH = 50  # documents of each ranking that can be drawn, if the test has a smaller k
NAME = "serve: "  # begins the names of tests, because other programs may use the same database
RETRY = 1.0  # seconds between two attempts to begin a test
TIMEOUT = 10.0  # seconds; only for messages


class Interleaving:
    """The tests of a service in one process.

    Parameters
    ----------
    log : str
        Folder or URL of the log.
    table : ModelTable
    metrics : Metrics
    settings : InterleaveSettings or None
        None credits clicks on lists of earlier tests, but mixes no lists.
    """

    def __init__(self, log: str, table: ModelTable, metrics: Metrics, settings: InterleaveSettings | None):
        self._is_url = is_postgresql(log)
        self._database = log if self._is_url else os.path.join(log, FILE)
        self._location = location_of(log, "an interleaved test") if self._is_url else self._database
        if not self._is_url:  # not world-readable: it contains users, as the files of the log do
            os.close(os.open(self._database, os.O_RDWR | os.O_CREAT, 0o640))
        self._table, self._metrics, self._settings = table, metrics, settings
        self._tests: dict[str, Interleaver] = {}
        self._began: dict[str, float] = {}  # when tests that are not yet open were begun
        # the database has one writer at a time; a server that hangs stops only this thread
        self._thread = ThreadPoolExecutor(1, "interleaving")

    def open(self, patience: float | None = None) -> None:
        """Start or resume the test of the current models; raise an OSError if that fails or takes too long."""
        if self._settings is not None:
            self._thread.submit(self._test, self._options(self._settings, self._models())).result(patience)

    def close(self) -> None:
        """Finish pending work, and close the connections."""
        self._thread.shutdown()
        for test in self._tests.values():
            test.disconnect()

    # lists

    @property
    def is_slow(self) -> bool:
        """Whether mixing may take milliseconds, for which the event loop should not wait."""
        return self._settings is not None and self._settings.method == "optimised"

    def mix(self, ranked: Ranked) -> Ranked:
        """Return the lists of a request, those that take part with the orders of the test."""
        settings = self._settings
        if settings is None or ranked.names_version or ranked.model.spec.key != settings.rankers[0]:
            return ranked
        numbers = [number for number, one in enumerate(ranked.lists) if one.ids and one.query is not None]
        if len(numbers) < len(ranked.lists):
            self._skip("no ids or query", len(ranked.lists) - len(numbers))
        models = [ranked.model, *self._models()[1:]]
        test = self._running(self._options(settings, models))
        reason = "explain" if ranked.n_explained else "no user" if not ranked.user else "not open" if not test else None
        if reason is not None or test is None:
            self._skip(str(reason), len(numbers))
            return ranked
        try:
            return self._mixed(ranked, numbers, test, models)
        except (RequestError, ValueError) as error:  # such as a value that only the other model refuses
            self._skip("failed", len(numbers))
            message = error.message if isinstance(error, RequestError) else str(error)
            log_event("not interleaved", logging.WARNING, error=message)
            return ranked

    def _mixed(self, ranked: Ranked, numbers: list[int], test: Interleaver, models: list[ServedModel]) -> Ranked:
        assert self._settings is not None
        orders = [[ranked.orders[number] for number in numbers]]
        for model in models[1:]:
            rows = [rows_for(model, ranked, number) for number in numbers]
            orders.append([np.argsort(-scores, kind="stable") for scores in score_lists(model, rows)])
        about: dict[str, Any] = {
            "test": test.test,
            "method": test.method,
            "k": test.k,
            "lists_per_user": test.lists_per_unit,
            "rankers": [
                {"model": one.spec.key, "version": one.version, "checksum": one.short_checksum} for one in models
            ],
        }
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
                mixed[number]["teams"] = [_team(row, about["rankers"]) for row in shown.basis]
        self._metrics.add("interleaved_total", value=len(numbers))
        return replace(ranked, mixed=mixed, mixed_orders=mixed_orders)

    def _skip(self, reason: str, n_lists: int) -> None:
        self._metrics.add("interleaving_skipped_total", f'reason="{reason}"', n_lists)

    def _models(self) -> list[ServedModel]:
        assert self._settings is not None
        return [self._table.get(key) for key in self._settings.rankers]

    # tests

    def _options(self, settings: InterleaveSettings, models: list[ServedModel]) -> dict[str, Any]:
        rankers = ", ".join(f"{model.spec.key} {model.short_checksum}" for model in models)
        words = f"{settings.method}, k {settings.k}, lists per user {settings.lists_per_user}"
        return {
            "method": settings.method,
            "k": settings.k,
            "lists_per_unit": settings.lists_per_user,
            "rankers": list(settings.rankers),
            "test": f"{NAME}{rankers}; {words}",
        }

    def _running(self, options: dict[str, Any]) -> Interleaver | None:
        """Return a test if it is open; otherwise begin it in the background."""
        test = self._tests.get(options["test"])
        if test is None:
            now = time.monotonic()
            if now - self._began.get(options["test"], -RETRY) >= RETRY:
                self._began[options["test"]] = now
                self._thread.submit(self._test, options).add_done_callback(_report)
        return test

    def _test(self, options: dict[str, Any]) -> Interleaver:
        """Open a test; in the thread of the database."""
        name = options["test"]
        if name not in self._tests:
            self._tests[name] = self._call(partial(Interleaver, **options, database=self._database))
        return self._tests[name]

    def _call(self, function: Any, *args: Any) -> Any:
        """Call a function of the database; its errors become a `StoreError` without statements and values."""
        try:
            return function(*args)
        except SQLAlchemyError as error:
            original = getattr(error, "orig", None)
            message = message_of(original, TIMEOUT) if self._is_url else f"SQLite failed ({original or error})."
            raise StoreError(self._location, message) from None

    # clicks and figures

    def credit(self, record: dict[str, Any], docid: str) -> Future[None] | None:
        """Credit a click on a logged list; return a future that is done when it is durable, None without a test."""
        logged = LoggedList.from_record(record)
        return None if logged is None else self._thread.submit(self._credit, logged, docid)

    def _credit(self, logged: LoggedList, docid: str) -> None:
        test = self._test(logged.options)
        self._call(partial(test.keep, unit=logged.unit), logged.shown)
        self._call(test.credit, logged.shown.id, [docid])

    def tests(self) -> Future[list[dict[str, Any]]]:
        """Return a future for all tests with their preferences, oldest first."""
        return self._thread.submit(self._describe)

    def _describe(self) -> list[dict[str, Any]]:
        current = self._current()
        found = []
        for settings in self._call(stored_settings, self._database, NAME):
            options = {name: settings[name] for name in ("method", "k", "lists_per_unit", "rankers", "test")}
            is_open = options["test"] in self._tests
            test = self._test(options)
            preferences = self._call(test.preferences)
            rankers = options["test"].removeprefix(NAME).partition(";")[0].split(", ")
            found.append(
                {
                    "test": options["test"],
                    "is_running": options["test"] == current,
                    "rankers": [dict(zip(("model", "checksum"), one.split(" "), strict=True)) for one in rankers],
                    "method": test.method,
                    "k": test.k,
                    "lists_per_user": test.lists_per_unit,
                    "preferences": [preference.to_dict() for preference in preferences],
                }
            )
            if not is_open:
                test.disconnect()
                del self._tests[options["test"]]
        return found

    def _current(self) -> str | None:
        return None if self._settings is None else str(self._options(self._settings, self._models())["test"])

    def gauges(self) -> Future[list[str]]:
        """Return a future for the preferences of the running test in Prometheus' text format."""
        return self._thread.submit(self._gauges)

    def _gauges(self) -> list[str]:
        test = self._tests.get(self._current() or "")
        preferences = [] if test is None else self._call(test.preferences)
        lines = []
        for name, value, about in (
            ("preference", "mean", "Mean preference for the first model over the second."),
            ("preference_low", "low", "Low end of its interval at level 0.95."),
            ("preference_high", "high", "High end of its interval."),
            ("users", "n_units", "Users that count."),
        ):
            lines += [f"# HELP plackett_interleaving_{name} {about}", f"# TYPE plackett_interleaving_{name} gauge"]
            for one in preferences:
                number = getattr(one, value)
                shown = "NaN" if number != number else repr(number)
                lines.append(f'plackett_interleaving_{name}{{first="{one.first}",second="{one.second}"}} {shown}')
        return lines


def _team(credits: list[float], rankers: list[dict[str, str]]) -> str | None:
    """Return the model that picked a document; None if its clicks are not credited."""
    best = max(range(len(credits)), key=credits.__getitem__)
    return rankers[best]["model"] if credits[best] > 0 else None


def _report(begun: Future[Any]) -> None:
    error = begun.exception()
    if error is not None:
        log_event("test not begun", logging.ERROR, error=str(error))


def checked(settings: InterleaveSettings, table: ModelTable) -> InterleaveSettings:
    """Return settings with the keys of the models; raise a ValueError unless a test of them can run."""
    try:
        models = [table.get(key) for key in settings.rankers]
    except RequestError as error:
        raise ValueError(f"--interleave: {error.message} {error.hint}") from None
    keys = tuple(model.spec.key for model in models)
    try:
        Interleaver(settings.method, k=settings.k, lists_per_unit=settings.lists_per_user, rankers=keys)
    except ValueError as error:
        raise ValueError(f"--interleave {','.join(settings.rankers)}: {error}") from None
    for model in models[1:]:
        if not model.schema.is_same(models[0].schema):
            raise ValueError(
                f"--interleave: {model.spec.key} has different features ({model.schema.n:,}) than {models[0].spec.key} "
                f"({models[0].schema.n:,}), but both rank the same documents."
            )
    return settings._replace(rankers=keys)
