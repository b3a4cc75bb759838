"""Settings of a workbench server: address, token and limits."""

from __future__ import annotations

from dataclasses import dataclass

from plackett.apps.access.settings import ServerSettings

GRADES = ("not relevant", "slightly relevant", "relevant", "very relevant", "perfect")
MAX_GRADES, MAX_WORDS = 10, 40  # one key for each grade


@dataclass(frozen=True)
class Settings(ServerSettings):
    """Settings of a workbench server, besides those of ``ServerSettings``."""

    grades: tuple[str, ...] = GRADES  # what 0, 1, 2 and so on mean

    def __post_init__(self) -> None:
        super().__post_init__()
        words = [word for word in self.grades if word.strip() and word.isprintable() and len(word) <= MAX_WORDS]
        if not 2 <= len(self.grades) <= MAX_GRADES or len(words) < len(self.grades):
            raise ValueError(
                f"grades must be 2 to {MAX_GRADES} strings of up to {MAX_WORDS} characters, for 0, 1, 2 and so on."
            )
