"""Saving models: an estimator as a JSON header and arrays, or an error that names what cannot be saved."""

from __future__ import annotations

import io
import math
import os
from typing import IO, Any

import numpy as np

from plackett._lazy import importing
from plackett.storage.compression import COMPRESSED
from plackett.storage.container import ContainerWriter, write_container
from plackett.storage.models.registry import KIND, MAX_DEPTH, TEXT_FORMS, VERSION, is_learned, name_of
from plackett.storage.models.sklearn_estimators import ADVICE, is_sklearn, state_of
from plackett.storage.remote import is_remote, uploaded
from plackett.validation import is_sparse


def save(estimator: Any, path: str | os.PathLike | IO[bytes]) -> None:
    """Write ``estimator``, its parameters and what it learned, to a file that :func:`load` reads.

    A path is replaced only after everything has been written; an error leaves the previous file unchanged. A file
    object gets all bytes at once. A parameter that is a numpy ``Generator`` or ``RandomState`` is saved as None, with a
    note in the file; use an int seed to fit a loaded model again with the same draws.

    Parameters
    ----------
    estimator : object of a registered class
    path : str, path or binary file object

    Raises
    ------
    ValueError
        If a parameter or a learned attribute cannot be saved, such as a function.
    """
    encoder = _Encoder()
    if name_of(type(estimator)) is None:
        raise ValueError(encoder.refusal(estimator, type(estimator).__name__))
    header = {**encoder.object(estimator, type(estimator).__name__, 0), "notes": encoder.notes}
    if is_remote(path):
        with uploaded(path) as local:
            save(estimator, local)
        return
    is_path = isinstance(path, (str, os.PathLike))
    name = str(os.fspath(path)) if is_path else ""  # type: ignore[arg-type]
    if name.lower().endswith(COMPRESSED):
        raise ValueError(f"{name}: models are not compressed; choose another extension, such as .plackett.")
    try:
        if is_path and (os.path.isfile(name) or not os.path.exists(name)):
            with write_container(name, KIND, VERSION) as writer:
                encoder.write(header, writer)
            return
        content = io.BytesIO()
        encoder.write(header, ContainerWriter(content, KIND, VERSION))
        if not is_path:
            path.write(content.getvalue())  # type: ignore[union-attr]
            return
        with open(name, "wb") as file:  # a pipe or a device
            file.write(content.getbuffer())
    except OSError as error:
        raise _not_written(error, name) if is_path else error from error


def _not_written(error: OSError, name: str) -> OSError:
    """Return the same error about the path of the caller instead of the temporary file beside it."""
    folder = os.path.dirname(os.path.realpath(name))
    reason = error.strerror or str(error)
    if not os.path.isdir(folder):
        reason += f"; there is no folder {folder}"
    return type(error)(error.errno, f"the model could not be saved ({reason})", name)


class _Encoder:
    """Turns values into JSON values; arrays are collected for the container.

    Numbers, text, None and lists stay as they are, everything else becomes ``{"type": ..., ...}``.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.notes: list[str] = []

    def write(self, header: dict[str, Any], writer: ContainerWriter) -> None:
        for place, array in enumerate(self.arrays):
            writer.add(str(place), array)
        writer.finish(header)

    def object(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        """Encode an object of a registered class: the name of the class, the parameters, and what was learned."""
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
            raise ValueError(f"{where} holds values nested more than {MAX_DEPTH} deep, or itself.")
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
            keys = [self._scalar(key, f"a key of {where}", depth + 1) for key in value]
            values = [self.value(part, f"{where}[{key!r}]", depth + 1) for key, part in value.items()]
            return {"type": "dict", "pairs": list(map(list, zip(keys, values, strict=True)))}
        if kind in TEXT_FORMS:
            try:
                return {"type": "text", "class": name_of(kind), "value": TEXT_FORMS[kind][0](value)}
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from error
        if name_of(kind) is not None:
            return {"type": "object", **self.object(value, where, depth)}
        return self._value_of_numpy(value, where, depth)

    def _value_of_numpy(self, value: Any, where: str, depth: int) -> Any:
        if isinstance(value, np.ndarray) and type(value) in (np.ndarray, np.memmap):
            if value.dtype.kind == "O":
                parts = [self._scalar(part, f"{where}[{place}]", depth + 1) for place, part in enumerate(value.flat)]
                return {"type": "objects", "shape": list(value.shape), "values": parts}
            if value.dtype.names is not None and value.ndim == 1:
                fields = {name: self._array(value[name], f"{where}[{name!r}]")["name"] for name in value.dtype.names}
                return {"type": "records", "fields": fields}
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
            return {"type": "numpy_type", "value": np.dtype(value).str}
        if is_sparse(value) and value.format == "csr" and value.ndim == 2:
            with importing:
                from scipy import sparse

            members = {part: self._array(getattr(value, part), where)["name"] for part in ("data", "indices", "indptr")}
            kind = "array" if isinstance(value, sparse.csr_array) else "matrix"
            return {"type": "csr", "kind": kind, "shape": list(value.shape), **members}
        if is_sklearn(value):
            return self._sklearn(value, where, depth)
        raise ValueError(self.refusal(value, where))

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
        return {"type": "array", "name": str(len(self.arrays) - 1)}

    def _sklearn(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        try:
            state = state_of(value)
        except ValueError as error:
            advice = ADVICE if hasattr(value, "transform") else "Linear classifiers and naive Bayes can be saved."
            raise ValueError(
                f"{where} is a {type(value).__name__}, which a model file cannot hold ({error}). {advice}"
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
                f"{where} is a {kind}, a class that is not registered; call plackett.storage.models.register({kind})."
            )
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return f"{where} is a {kind}, which cannot be saved outside of a parameter. Use an int seed."
        if callable(value):
            name = getattr(value, "__name__", kind)
            return (
                f"{where} is a function or class ({name}), and a model file holds data, never code. "
                "Use one of the named choices, or numbers instead."
            )
        return (
            f"{where} is a {kind}, which cannot be saved. Numbers, text, lists, dicts, arrays, CSR matrices, losses, "
            "solvers, rankers and transformers of scikit-learn can."
        )
