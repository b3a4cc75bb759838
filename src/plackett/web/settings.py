"""Settings of a workbench server: address, token and limits."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"
PORT = 8765
MIN_TOKEN = 16  # characters, so that a token cannot be guessed over a network
MEGABYTE = 2**20


@dataclass(frozen=True)
class Settings:
    """Settings of a workbench server.

    Attributes
    ----------
    host, port
        The address to listen on.
    token : str or None
        The token that every request needs; None only on loopback addresses.
    origins : tuple of str
        Other sites, such as "https://search.example.org", whose pages may call the API with the token.
    max_body : int
        Maximum bytes of a request.
    max_upload : int
        Maximum bytes of an uploaded click log.
    seconds : float
        Maximum time until the response to a request that has arrived.
    max_requests : int
        Maximum number of running requests, and of unfinished bodies. Further requests are refused; of too many
        unfinished bodies the slowest are dropped.
    threads : int
        Threads of the request handlers.
    max_jobs : int
        Background jobs at the same time.
    is_logging : bool
        Whether the lists that users see, and the documents that they open, are logged.
    """

    host: str = LOOPBACK
    port: int = PORT
    token: str | None = None
    origins: tuple[str, ...] = ()
    max_body: int = 8 * MEGABYTE
    max_upload: int = 256 * MEGABYTE
    seconds: float = 20.0
    max_requests: int = 256
    threads: int = 8
    max_jobs: int = 1
    is_logging: bool = True

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise ValueError(f"other machines can reach {self.host}, so a token is needed; 127.0.0.1 needs none.")
        if self.token is not None and not re.fullmatch(rf"[!-~]{{{MIN_TOKEN},}}", self.token):
            raise ValueError(f"a token must have {MIN_TOKEN} characters or more, all printable ASCII and no blanks.")
        for origin in self.origins:
            if not re.fullmatch(r"https?://[\w.\-\[\]:]+", origin, re.ASCII):
                raise ValueError(f'an origin looks like "https://search.example.org", without a path, not {origin!r}.')

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Return whether ``host`` is a loopback name or address."""
    if host.lower() in ("localhost", "localhost."):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
