"""Checks of losses and rankers that you wrote: each raises an AssertionError that says what is wrong, and where."""

from plackett._lazy import attach

_names, __getattr__, __dir__ = attach(
    __name__,
    {
        "plackett.testing.losses": "check_loss",
        "plackett.testing.rankers": "check_ranker",
    },
)
__all__ = list(_names)
