"""Watching model files: a changed file replaces its model after it was verified."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from plackett.apps.serve.logs import log_event
from plackett.apps.serve.models import ModelTable, ServedModel, Signature, check_same_features, load_model, signature_of
from plackett.apps.serve.settings import ModelSpec


class Watcher:
    """Checks the files of the models every ``poll`` seconds, in a thread.

    Parameters
    ----------
    table : ModelTable
    poll : float
    on_swap : function of a ServedModel
        Called with each new model after it was verified; by default it replaces the old one in ``table``.
    on_failure : function of a key and a message
    """

    def __init__(
        self,
        table: ModelTable,
        poll: float,
        on_swap: Callable[[ServedModel], None],
        on_failure: Callable[[str, str], None],
    ):
        self._table, self._poll, self._on_swap, self._on_failure = table, poll, on_swap, on_failure
        self._seen: dict[str, Signature] = {model.spec.key: model.signature for model in table}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch models", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread after its current check."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> None:
        """Check each file once, and load those that changed."""
        for model in self._table:
            # before the file is read: a write in the meantime changes it again
            signature = signature_of(model.spec.path)
            if signature != self._seen[model.spec.key]:
                self._seen[model.spec.key] = signature
                self._load(model.spec, model)

    def _load(self, spec: ModelSpec, old: ServedModel) -> None:
        try:
            new = load_model(spec)
            check_same_features(new, old)
        except Exception as error:  # whatever is wrong with a file, the old model stays
            self._on_failure(spec.key, str(error) or type(error).__name__)
            return
        if new.checksum != old.checksum or spec.key in self._table.errors:
            self._on_swap(new)

    def _run(self) -> None:
        while not self._stopped.wait(self._poll):
            try:
                self.look()
            except Exception as error:  # such as a lack of memory; the next check may succeed
                log_event("watching failed", logging.ERROR, error=str(error))
