"""Imports that happen when they are first needed, and public names that are loaded then."""

from __future__ import annotations

import importlib
import os
import time
from _thread import RLock  # importing threading would take longer than the rest of this module

IMPORTED_AT = time.time()  # of the package; results of source files that are edited later are not stored
TYPE_CHECKING = False  # type checkers know the name; importing typing would take most of the time of `import plackett`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Held while a function imports a package: threads that import modules of one import cycle in different orders get
# partially initialized modules or a _DeadlockError. Code that runs when a module is imported must not take it.
importing = RLock()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=importing.acquire, after_in_parent=importing.release, after_in_child=importing.release)


def attach(
    package: str, names: dict[str, str], modules: str = ""
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package, given by its ``__name__``.

    ``names`` are the public names of each module, ``modules`` those that are public under their last name, all
    separated by spaces.
    """
    homes = {name: home for home, words in names.items() for name in words.split()}
    homes |= {module.rpartition(".")[2]: module for module in modules.split()}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with importing:
            value = importlib.import_module(homes[name])
        if homes[name] not in modules.split():
            value = getattr(value, name)
        setattr(importlib.import_module(package), name, value)
        return value

    return sorted(homes), load, lambda: sorted({*vars(importlib.import_module(package)), *homes})
