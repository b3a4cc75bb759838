"""Settings of a server: address, token and limits."""

from __future__ import annotations

import functools
import ipaddress
import re
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"
PORT = 8765
MIN_TOKEN = 16  # characters, so that a token cannot be guessed over a network
MEGABYTE = 2**20


@dataclass(frozen=True)
class ServerSettings:
    """Address, token and limits of a server."""

    host: str = LOOPBACK
    port: int = PORT
    token: str | None = None  # that every request needs; None only on loopback addresses
    max_body: int = 8 * MEGABYTE  # bytes of a request
    seconds: float = 20.0  # until the response to a request that has arrived
    threads: int = 8  # of the request handlers

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise ValueError(f"other machines can reach {self.host}, so a token is needed; 127.0.0.1 needs none.")
        if self.token is not None and not re.fullmatch(rf"[!-~]{{{MIN_TOKEN},}}", self.token):
            raise ValueError(f"a token must have {MIN_TOKEN} characters or more, all printable ASCII and no spaces.")

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)


@functools.lru_cache(256)
def is_loopback(host: str) -> bool:
    """Return whether ``host`` is a loopback name or address."""
    if host.lower() in ("localhost", "localhost."):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
