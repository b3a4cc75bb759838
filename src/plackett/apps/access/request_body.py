"""Uploads: bodies that may be larger than what memory should hold, in temporary files."""

from __future__ import annotations

import asyncio
import tempfile
from typing import BinaryIO

from starlette.types import Receive

from plackett.apps.access.guard import too_large


class Upload:
    """A temporary file with the body of a request, deleted when it is closed; a job may take it over."""

    def __init__(self) -> None:
        self._file: BinaryIO | None = tempfile.TemporaryFile(prefix="plackett-")  # noqa: SIM115

    @property
    def file(self) -> BinaryIO:
        assert self._file is not None
        return self._file

    async def save(self, receive: Receive, max_bytes: int) -> bool:
        """Write the body to the file; return False if the client disconnected."""
        n_bytes, has_more = 0, True
        while has_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            part, has_more = message.get("body", b""), message.get("more_body", False)
            n_bytes += len(part)
            if n_bytes > max_bytes:
                raise too_large(max_bytes)
            await asyncio.to_thread(self.write, part)
        return True

    def write(self, part: bytes) -> None:
        """Append to the file."""
        self.file.write(part)

    def take(self) -> BinaryIO:
        """Return the file, which the caller must close now."""
        file, self._file = self.file, None
        return file

    def close(self) -> None:
        """Delete the file, unless it was taken."""
        if self._file is not None:
            self._file.close()
