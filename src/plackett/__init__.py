"""plackett: learning to rank.

Train rankers from judged lists, refine a ranking you already have, compare rankers honestly, put the best one to work.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what a type checker and an editor see; at run time each name is loaded when it is first used
    from plackett import datasets as datasets
    from plackett import metrics as metrics

__version__ = "0.1.0"

# public name -> module that holds it; a name equal to its module's last part is the module itself
_HOME = {
    "Queries": "plackett.data.queries",
    "metrics": "plackett.metrics",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str):
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'plackett' has no attribute {name!r}")
    module = importlib.import_module(home)
    value = module if home.rpartition(".")[2] == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
