"""The state of a scoring service in one process: models, counters, the shadow model and the log."""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from plackett.apps.access.errors import RequestError
from plackett.apps.serve.log import Log, event_record, list_record, read_seed
from plackett.apps.serve.logs import log_event
from plackett.apps.serve.models import ModelTable, Signature, load_model, signature_of
from plackett.apps.serve.ranking import Ranked, rank_by
from plackett.apps.serve.requests import ClickRequest
from plackett.apps.serve.settings import COUNTERS, ServingSettings

if TYPE_CHECKING:
    from plackett.apps.serve.interleaving import Mixer
    from plackett.apps.serve.metrics import Metrics

MAX_PENDING = 64  # requests that wait for the shadow model
ORDER_LOGGED = 100  # documents of an order in the log


class Service:
    """Models, counters and the log, shared by the threads of a process; a ValueError if the settings do not fit."""

    def __init__(self, table: ModelTable, settings: ServingSettings):
        self.table, self.settings = table, settings
        if settings.shadow is not None:
            try:
                table.get(settings.shadow)
            except RequestError as error:
                raise ValueError(f"--shadow: {error.message} {error.hint}") from None
        if settings.interleave is not None:
            from plackett.apps.serve.interleaving import checked

            if settings.log is None:
                raise ValueError("--interleave needs the log of lists and clicks: --log FOLDER.")
            self.settings = replace(settings, interleave=checked(settings.interleave, table))
        counters = os.environ.get(COUNTERS)
        if counters is not None and not (os.path.isdir(counters) and os.access(counters, os.W_OK)):
            raise ValueError(f"{COUNTERS}={counters} is not a folder that can be written to; make it, or unset it.")
        self.is_ready = True
        self.log: Log | None = None
        self.mixer: Mixer | None = None
        self._seen: dict[str, Signature] = {model.spec.key: model.signature for model in table}
        self._pending = threading.BoundedSemaphore(MAX_PENDING)

    @cached_property
    def metrics(self) -> Metrics:
        """The counters of this process."""
        from plackett.apps.serve.metrics import Metrics

        return Metrics(self.table)

    # the log

    def open_log(self) -> None:
        """Open the log of returned lists, if the settings name one; in the process that writes it."""
        if self.settings.log is None or self.log is not None:
            return
        self.log = Log(self.settings.log)
        if self.settings.interleave is not None:
            from plackett.apps.serve.interleaving import Mixer

            self.mixer = Mixer(self.settings.interleave, self.table, self.metrics, read_seed(self.settings.log))

    def sync_log(self) -> None:
        """Move the log to the disk."""
        if self.log is not None:
            try:
                self.log.sync()
            except OSError as error:
                self._log_failed(error)

    def close_log(self) -> None:
        """Move the log to the disk, and close it."""
        if self.log is not None:
            self.log.close()
        self.log = self.mixer = None

    def log_list(self, ranked: Ranked) -> str | None:
        """Return the id of a list that is in the log now; None if it is not, or could not be written."""
        record = None if self.log is None else list_record(ranked)
        if self.log is None or record is None:
            return None
        try:
            self.log.queries.append(record)
        except OSError as error:  # the list is returned anyway
            self._log_failed(error)
            return None
        return record["query_id"]

    def log_click(self, click: ClickRequest) -> dict[str, Any]:
        """Return the record of a click that is in the log now."""
        assert self.log is not None
        record = event_record(click)
        try:
            self.log.events.append(record)
        except OSError as error:
            self._log_failed(error)
            reason = f" ({error.strerror})" if error.strerror else ""
            raise RequestError(
                503, "log", f"the click cannot be logged now{reason}.", "Send it again later."
            ) from error
        self.metrics.clicks.inc()
        return record

    def _log_failed(self, error: OSError) -> None:
        self.metrics.log_failures.inc()
        log_event("not logged", logging.ERROR, error=str(error))

    # the models

    def look(self) -> None:
        """Load the model files that changed; a file that cannot be served leaves its model in place."""
        for old in self.table:
            key, signature = old.spec.key, signature_of(old.spec.path)
            if signature == self._seen[key]:
                continue
            self._seen[key] = signature
            try:
                new = load_model(old.spec)
                if new.checksum != old.checksum or key in self.table.errors:
                    self.table.swap(new)
                    self.metrics.swaps.labels(key).inc()
                    log_event("model swapped", model=key, version=new.version, checksum=new.checksum)
            except Exception as error:  # whatever is wrong with the file
                self.table.errors[key] = str(error) or type(error).__name__
                self.metrics.swap_failures.labels(key).inc()
                log_event("model not swapped", logging.ERROR, model=key, error=self.table.errors[key])

    def count(self, ranked: Ranked) -> None:
        """Count the list of a request and its documents."""
        key = ranked.model.spec.key
        self.metrics.lists.labels(key).inc()
        self.metrics.documents.labels(key).inc(len(ranked.order))

    def models(self) -> list[dict[str, Any]]:
        """Return the response to ``GET /models``."""
        shadow = None if self.settings.shadow is None else self.table.get(self.settings.shadow).spec.key
        return [
            {**model.describe(), "is_shadow": model.spec.key == shadow, "error": self.table.errors.get(model.spec.key)}
            for model in self.table
        ]

    # the shadow model

    def may_shadow(self) -> bool:
        """Return whether the shadow model should score a request now; False counts it as dropped."""
        if self.settings.shadow is None:
            return False
        if self._pending.acquire(blocking=False):
            return True
        self.metrics.shadow_dropped.inc()
        return False

    def shadow(self, ranked: Ranked, request_id: str) -> None:
        """Score the list of a request with the shadow model too, and log both orders."""
        try:
            model = self.table.get(self.settings.shadow)
            if model.spec.key == ranked.model.spec.key:
                return
            order, other = ranked.order, rank_by(model, ranked)
            log_event(
                "shadow",
                request_id=request_id,
                model=ranked.model.spec.key,
                version=ranked.model.version,
                shadow=model.spec.key,
                shadow_version=model.version,
                ids=ranked.request.ids,
                order=order[:ORDER_LOGGED].tolist(),
                shadow_order=other[:ORDER_LOGGED].tolist(),
                same_first=bool(order.size and order[0] == other[0]),
            )
            self.metrics.shadow.inc()
        except Exception as error:  # never reaches the client
            self.metrics.shadow_failures.inc()
            log_event("shadow failed", logging.WARNING, request_id=request_id, error=str(error))
        finally:
            self._pending.release()
