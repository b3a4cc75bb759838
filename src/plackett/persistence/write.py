"""Saving: an estimator as JSON and arrays, or a refusal that names what cannot be kept."""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from typing import IO, Any, BinaryIO

import numpy as np

from plackett import __version__
from plackett.metrics.measure import Measure
from plackett.persistence.foreign import WAY_OUT, is_foreign, state_of
from plackett.persistence.layout import FORMAT, FORMAT_VERSION, MAX_DEPTH, is_learned
from plackett.persistence.names import name_of
from plackett.storage.opening import write_bytes
from plackett.validation import is_sparse


def save(estimator: Any, path: str | os.PathLike | IO[bytes]) -> None:
    """Write ``estimator``, its parameters and what it learned, to a file that :func:`load` reads.

    A path changes only when everything was written: an error leaves what stood there before. A file object gets all
    bytes at once. A parameter that is a numpy ``Generator`` or ``RandomState`` is saved as None, and the file has a
    note of it; use an int seed if a loaded model shall be fitted again with the same draws.

    Parameters
    ----------
    estimator : object of a registered class
    path : str, path or binary file object

    Raises
    ------
    ValueError
        Where a parameter or a learned attribute is something that a file cannot hold, such as a function.
    """
    writer = _Writer()
    if name_of(type(estimator)) is None:
        raise ValueError(writer.refusal(estimator, type(estimator).__name__))
    model = writer.object(estimator, type(estimator).__name__, 0)
    heading = {"format": FORMAT, "version": FORMAT_VERSION, "plackett": __version__}
    document = json.dumps({**heading, **model, "notes": writer.notes}, allow_nan=False).encode("ascii")
    if not isinstance(path, (str, os.PathLike)):
        content = io.BytesIO()
        writer.write(document, content)
        path.write(content.getvalue())
        return
    name = str(os.fspath(path))
    if name.lower().endswith((".gz", ".xz", ".bz2", ".zst")):
        raise ValueError(f"{name}: models are not compressed; choose another ending, such as .plackett.")
    try:
        with write_bytes(path) as file:
            writer.write(document, file)
    except OSError as error:
        raise _not_written(error, name) from error


def _not_written(error: OSError, name: str) -> OSError:
    """The same error about the path that was asked for, not about the draft beside it."""
    folder = os.path.dirname(os.path.realpath(name))
    reason = error.strerror or str(error)
    if not os.path.isdir(folder):
        reason += f"; there is no folder {folder}"
    return type(error)(error.errno, f"the model could not be saved ({reason})", name)


class _Writer:
    """Turns values into what JSON can say; arrays are set aside for members of their own.

    Numbers, text, None and lists are themselves, everything else is ``{"type": ..., ...}``.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.notes: list[str] = []

    def write(self, document: bytes, file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(_member("model.json"), document)
            for place, array in enumerate(self.arrays):
                with archive.open(_member(f"arrays/{place}.npy"), "w", force_zip64=array.nbytes > 1 << 30) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)

    def object(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        """An object of a registered class: the name of the class, the parameters, and what was learned."""
        params = self._params(value, where, depth)
        own = getattr(value, "__dict__", {})
        state = {
            name: self.value(own[name], f"{where}.{name}", depth + 1)
            for name in own
            if is_learned(type(value), name) and name not in params
        }
        return {"class": name_of(type(value)), "params": params, "state": state}

    def _params(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        params = {}
        for name, param in value.get_params(deep=False).items():
            if isinstance(param, (np.random.Generator, np.random.RandomState)):
                self.notes.append(f"{where}.{name} was a {type(param).__name__} and is saved as None.")
                param = None
            params[name] = self.value(param, f"{where}.{name}", depth + 1)
        return params

    def value(self, value: Any, where: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError(f"{where} holds values within values more than {MAX_DEPTH} deep, or itself.")
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"type": "float", "value": repr(value)}
        if kind is bytes:
            return {"type": "bytes", "hex": value.hex()}
        if kind in (list, tuple):
            values = [self.value(part, f"{where}[{place}]", depth + 1) for place, part in enumerate(value)]
            return values if kind is list else {"type": "tuple", "values": values}
        if kind is dict:
            return {"type": "dict", "pairs": [self._pair(key, part, where, depth) for key, part in value.items()]}
        if name_of(kind) is not None:
            return {"type": "object", **self.object(value, where, depth)}
        if kind is Measure:
            if not value.has_known_rules:
                raise ValueError(
                    f"{where}: {value} has a convention that is not in plackett.metrics.CONVENTIONS, so that a file "
                    "cannot name it. Spell its parameters out instead."
                )
            return {"type": "measure", "value": str(value)}
        return self._value_of_numpy(value, where, depth)

    def _value_of_numpy(self, value: Any, where: str, depth: int) -> Any:
        if isinstance(value, np.ndarray) and type(value) in (np.ndarray, np.memmap):
            if value.dtype.kind == "O":
                parts = [self._scalar(part, f"{where}[{place}]", depth + 1) for place, part in enumerate(value.flat)]
                return {"type": "objects", "shape": list(value.shape), "values": parts}
            return self._array(value, where)
        if isinstance(value, np.generic) and value.dtype.kind in "biufcSU":
            if isinstance(value, np.str_):
                return {"type": "numpy", "dtype": "str", "value": str(value)}
            if isinstance(value, np.bytes_):
                return {"type": "numpy", "dtype": "bytes", "value": value.hex()}
            return {"type": "numpy", "dtype": value.dtype.str, "value": value.tobytes().hex()}
        if isinstance(value, np.dtype) and value.kind in "biufcSUO" and value.names is None:
            return {"type": "dtype", "value": value.str}
        if isinstance(value, type) and issubclass(value, np.generic) and np.dtype(value).kind in "biufc":
            return {"type": "numpy type", "value": np.dtype(value).str}
        if is_sparse(value) and value.format == "csr" and value.ndim == 2:
            members = {
                part: self._array(getattr(value, part), where)["member"] for part in ("data", "indices", "indptr")
            }
            kind = "array" if type(value).__name__ == "csr_array" else "matrix"
            return {"type": "csr", "kind": kind, "shape": list(value.shape), **members}
        if is_foreign(value):
            return self._foreign(value, where, depth)
        raise ValueError(self.refusal(value, where))

    def _pair(self, key: Any, value: Any, where: str, depth: int) -> list[Any]:
        return [
            self._scalar(key, f"a key of {where}", depth + 1),
            self.value(value, f"{where}[{key!r}]", depth + 1),
        ]

    def _scalar(self, value: Any, where: str, depth: int) -> Any:
        is_plain = value is None or isinstance(value, (bool, int, float, str, bytes, np.generic))
        if not is_plain and not (type(value) is tuple and depth <= MAX_DEPTH):
            raise ValueError(self.refusal(value, where))
        if type(value) is tuple:
            parts = [self._scalar(part, f"{where}[{place}]", depth + 1) for place, part in enumerate(value)]
            return {"type": "tuple", "values": parts}
        return self.value(value, where, depth)

    def _array(self, array: np.ndarray, where: str) -> dict[str, str]:
        if array.dtype.kind not in "biufcSU" or array.dtype.itemsize == 0:
            raise ValueError(
                f"{where} is an array of type {array.dtype}; only numbers, booleans and text can be saved."
            )
        self.arrays.append(np.asarray(array))
        return {"type": "array", "member": f"arrays/{len(self.arrays) - 1}.npy"}

    def _foreign(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        try:
            state = state_of(value)
        except ValueError as error:
            raise ValueError(
                f"{where} is a {type(value).__name__}, which a model file cannot hold ({error}). {WAY_OUT}"
            ) from error
        return {
            "type": "sklearn",
            "class": type(value).__name__,
            "params": self._params(value, where, depth),
            "state": {name: self.value(part, f"{where}.{name}", depth + 1) for name, part in state.items()},
        }

    def refusal(self, value: Any, where: str) -> str:
        kind = type(value).__name__
        if is_sparse(value):
            return (
                f"{where} is sparse in the format {value.format.upper()}; only CSR matrices can be saved: use .tocsr()."
            )
        if hasattr(value, "get_params") and not isinstance(value, type):
            return (
                f"{where} is a {kind}, a class that is not registered; plackett.persistence.register({kind}) does it."
            )
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return f"{where} is a {kind}, which cannot be saved outside of a parameter. Use an int seed."
        if callable(value):
            name = getattr(value, "__name__", kind)
            return (
                f"{where} is a function or class ({name}), and a model file holds data, never code. "
                "Use one of the choices that have a name, or put numbers in its place."
            )
        return (
            f"{where} is a {kind}, which cannot be saved. Numbers, text, lists, dicts, arrays, CSR matrices, losses, "
            "solvers, rankers and transformers of scikit-learn can."
        )


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # dated 1980, so that equal models give equal files
    info.external_attr = 0o644 << 16
    return info
