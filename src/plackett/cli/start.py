"""Starting fast: a command that takes a second must not spend a third of it on imports that it does not use."""

from __future__ import annotations

import sys
from types import ModuleType

BLAS = "scipy.linalg.cython_blas"


def load_numba() -> None:
    """Import numba's library without scipy.linalg, which it imports only to see that it is there.

    numba asks for the module by name; while it does so, an empty one answers, and is gone again afterwards. scipy is a
    dependency of this package, so the answer is true; whoever needs the real module later gets it.
    """
    if BLAS in sys.modules:
        return
    sys.modules[BLAS] = ModuleType(BLAS)
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules[BLAS]
