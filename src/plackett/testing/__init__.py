"""Checks of losses, measures and rankers that you wrote: each raises an AssertionError that says what is wrong."""

from plackett._lazy import attach

_names, __getattr__, __dir__ = attach(
    __name__,
    {
        "plackett.testing.losses": "check_loss",
        "plackett.testing.measures": "check_measure",
        "plackett.testing.rankers": "check_ranker",
    },
)
__all__ = list(_names)
