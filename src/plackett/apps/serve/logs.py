"""Structured logs: one JSON object per line on standard error."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

LOG = logging.getLogger("plackett.apps.serve")


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON: time, level, event, and the fields that ``log_event`` was given."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line: dict[str, Any] = {"time": time, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_event(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields."""
    LOG.log(level, event, extra={"fields": fields})


def start_logging() -> None:
    """Write the logs of the service and of its server as JSON lines to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("plackett", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
    logging.getLogger("plackett").setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
