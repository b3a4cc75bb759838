"""Read-only arrays, as memory maps, data frames and messages between processes give them, on their way to kernels.

numba compiles every kernel once more for read-only arrays, for seconds each. What is returned here goes to kernels that
do not write to it, and to nobody else: whoever writes to it changes what is not to be changed, or ends the process.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.validation import is_sparse


def readable(array: np.ndarray) -> np.ndarray:
    """The array, or a view of it that kernels take for writable."""
    if array.flags.writeable or array.size == 0:
        return array.view(np.ndarray)
    return np.asarray(_Window(array))


def for_kernels(X: Any) -> tuple[np.ndarray, ...]:
    """What kernels take of the rows: X itself, or ``data``, ``indices`` and ``indptr`` of a CSR matrix."""
    if is_sparse(X):
        return readable(X.data), readable(X.indices), readable(X.indptr)
    return (readable(X),)


class _Window:
    """Shows an array as if it could be written to."""

    def __init__(self, array: np.ndarray):
        self.base = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface
