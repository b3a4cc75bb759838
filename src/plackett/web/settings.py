"""What a workbench is started with: where it listens, who may come in, and how much it takes."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"
PORT = 8765
SHORTEST_TOKEN = 16  # characters: one that cannot be guessed over a network
MEGABYTE = 2**20


@dataclass(frozen=True)
class Settings:
    """How a workbench is served.

    Attributes
    ----------
    host, port
        Where it listens.
    token : str or None
        What every request must bring; None only on the machine itself.
    origins : tuple of str
        Other sites, as "https://search.example.org", whose pages may call the API with the token.
    max_body : int
        Bytes in a request.
    seconds : float
        Until a request that has arrived is answered, by an error if need be.
    max_requests : int
        Answered at the same time, and unfinished bodies at the same time; more of the former are turned away, of the
        latter the slowest are dropped.
    threads : int
        That searching and refining share.
    max_jobs : int
        In the background at the same time.
    """

    host: str = LOOPBACK
    port: int = PORT
    token: str | None = None
    origins: tuple[str, ...] = ()
    max_body: int = 8 * MEGABYTE
    seconds: float = 20.0
    max_requests: int = 256
    threads: int = 8
    max_jobs: int = 1

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise ValueError(f"on {self.host} others can come in, so a token is needed; 127.0.0.1 does without one.")
        if self.token is not None and not re.fullmatch(rf"[!-~]{{{SHORTEST_TOKEN},}}", self.token):
            raise ValueError(f"a token must have {SHORTEST_TOKEN} characters or more, none of them a blank.")
        for origin in self.origins:
            if not re.fullmatch(r"https?://[\w.\-\[\]:]+", origin, re.ASCII):
                raise ValueError(f'an origin looks like "https://search.example.org", without a path, not {origin!r}.')

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether ``host`` is a name or a number of this machine that no other machine can reach."""
    if host.lower() in ("localhost", "localhost."):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
