"""Loading models: only what :func:`save` writes is accepted, checked at every step."""

from __future__ import annotations

import functools
import io
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import IO, Any

import numpy as np

from plackett import __version__
from plackett._lazy import importing
from plackett.exceptions import ModelFormatError
from plackett.storage.container import (
    Container,
    ContainerError,
    check_content,
    check_empty,
    one_line,
    open_container,
    plain_dtype,
    shown,
)
from plackett.storage.models import registry
from plackett.storage.models.registry import KIND, MAX_DEPTH, TEXT_FORMS, VERSION, Part, is_learned
from plackett.storage.models.sklearn_estimators import remade
from plackett.storage.opening import name_of
from plackett.storage.remote import local_files
from plackett.validation import check_csr

# the "type" of a node in the header
_TYPES = frozenset(
    ("float", "bytes", "tuple", "dict", "text", "numpy", "dtype", "numpy_type", "objects", "array", "csr", "sklearn")
) | {"object", "records"}
_INVALID = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError)


@local_files
def load(path: str | os.PathLike | IO[bytes]) -> Any:
    """Return the estimator that :func:`save` wrote.

    Nothing in the file is run or imported: classes come from the registry, and anything that ``save`` does not write is
    rejected. Parameters that an older file lacks get their defaults.

    Parameters
    ----------
    path : str, path or binary file object

    Raises
    ------
    ModelFormatError
        If the file is not a model, is damaged, or needs something that this version does not have.
    """
    with _opened(path, _Reader, verify=True) as reader:
        estimator = reader.model()
        unused = sorted(set(reader.container.arrays) - reader.used)
        if unused:
            raise ModelFormatError(reader.name, f"it holds the array {shown(unused[0])}, which the model does not use.")
    return estimator


@local_files
def describe(path: str | os.PathLike | IO[bytes]) -> dict[str, Any]:
    """Return the description of a model file as plain values; no array is read and no class is needed.

    Parameters
    ----------
    path : str, path or binary file object

    Returns
    -------
    dict
        ``class`` (its name), ``params`` and ``state`` (by name; arrays are described in words), ``plackett`` (the
        version that wrote it), ``version`` (of the format), ``notes`` (list of str) and ``bytes`` (size of the file).
    """
    with _opened(path, _Reader, verify=False) as reader:
        about = {"plackett": reader.container.plackett, "version": VERSION, "notes": reader.container.header["notes"]}
        return {**_in_words(reader.container.header, reader), **about, "bytes": reader.container.size}


@local_files
def read_parts(path: str | os.PathLike | IO[bytes]) -> Part:
    """Return the content of a model file as records, nested as its objects are; no class is needed.

    Unlike with :func:`load`, the content is not checked. CSR matrices are None.
    """
    with _opened(path, _PartReader, verify=True) as reader:
        return reader.model()


@contextmanager
def _opened(path: str | os.PathLike | IO[bytes], kind: Callable[..., Any], *, verify: bool) -> Iterator[Any]:
    """Yield a reader of the model at ``path``; any error in its content becomes a ModelFormatError."""
    name, source = name_of(path), path
    if not isinstance(path, (str, os.PathLike)):
        source = io.BytesIO(path.read())
    elif os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):  # a pipe
        with open(path, "rb") as file:
            source = io.BytesIO(file.read())
    try:
        with open_container(source, KIND, VERSION, verify=verify) as container:
            yield kind(container, name)
    except ModelFormatError:
        raise
    except ContainerError as error:
        raise ModelFormatError(name, str(error)) from error
    except RecursionError as error:
        raise ModelFormatError(name, "it holds values that are nested too deeply.") from error
    except _INVALID as error:
        raise ModelFormatError(name, f"the file is damaged ({one_line(error)}).") from error


class _Reader:
    """Reads values as ``_Writer`` writes them, and nothing else.

    ``used`` are the arrays that were read; each is read once, so that a small file cannot cause many copies.
    """

    def __init__(self, container: Container, name: str):
        self.container, self.name = container, name
        self.used: set[str] = set()
        notes = self._field(container.header, "notes", list, "header")
        if not all(isinstance(note, str) for note in notes):
            raise ModelFormatError(name, "header: notes must be text.")

    def model(self) -> Any:
        return self._read_object(self.container.header, "header", 0)

    def _field(self, node: dict[str, Any], key: str, kind: type, where: str) -> Any:
        value = node.get(key)
        if type(value) is not kind:
            found = "nothing" if value is None else shown(value)
            raise ModelFormatError(self.name, f'{where}: "{key}" must be of type {kind.__name__}, found {found}.')
        return value

    def _read_object(self, node: dict[str, Any], where: str, depth: int) -> Any:
        cls = self._class(node, where)
        class_name = node["class"]
        if cls in TEXT_FORMS:
            raise ModelFormatError(self.name, f"{where}: {class_name} is saved as text, not as an object.")
        params = self._named_values(node, "params", class_name, depth)
        state = self._named_values(node, "state", class_name, depth)
        known = signature(cls).parameters
        takes_any = any(param.kind is param.VAR_KEYWORD for param in known.values())  # it checks names itself
        for name in params:
            if name not in known and not takes_any:
                raise ModelFormatError(
                    self.name,
                    f"{class_name} has no parameter {shown(name)} in plackett {__version__} ({self._origin()}).",
                )
        answer = cls(**params)
        for name, value in state.items():
            if not is_learned(cls, name) or name in params:
                raise ModelFormatError(self.name, f"{class_name}: {shown(name)} is not a learned attribute.")
            setattr(answer, name, value)
        check = getattr(answer, "check_loaded", None)
        if check is not None:
            try:
                check()
            except Exception as error:  # a check may run compiled code, whose errors are of many kinds
                raise ModelFormatError(self.name, f"{class_name}: {one_line(error)}") from error
        return answer

    def _class(self, node: dict[str, Any], where: str) -> type:
        class_name = self._field(node, "class", str, where)
        if not registry.is_registered(class_name):
            raise ModelFormatError(
                self.name,
                f"{where}: {shown(class_name)} is not a class that plackett {__version__} loads ({self._origin()}). "
                "Nothing was run. For your own class, import it and call plackett.storage.models.register first.",
            )
        return registry.registered(class_name)

    def _origin(self) -> str:
        return f"the file was written by plackett {shown(self.container.plackett)}"

    def _named_values(self, node: dict[str, Any], key: str, where: str, depth: int) -> dict[str, Any]:
        nodes = self._field(node, key, dict, where)
        return {name: self.value(part, f"{where}.{name}", depth + 1) for name, part in nodes.items()}

    def value(self, node: Any, where: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ModelFormatError(self.name, f"it holds values nested more than {MAX_DEPTH} deep.")
        if isinstance(node, list):
            return [self.value(part, where, depth + 1) for part in node]
        if not isinstance(node, dict):
            return node
        kind = node.get("type")
        if not isinstance(kind, str) or kind not in _TYPES:
            raise ModelFormatError(self.name, f"{where} is of the unknown type {shown(kind)}.")
        try:
            return getattr(self, f"_read_{kind}")(node, where, depth)
        except (ModelFormatError, RecursionError):
            raise
        except _INVALID as error:
            raise ModelFormatError(self.name, f"{where} is not valid ({one_line(error)}).") from error

    def _read_float(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return float(self._field(node, "value", str, where))

    def _read_bytes(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return bytes.fromhex(self._field(node, "hex", str, where))

    def _read_tuple(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return tuple(self.value(part, where, depth + 1) for part in self._field(node, "values", list, where))

    def _read_dict(self, node: dict[str, Any], where: str, depth: int) -> Any:
        pairs = self._field(node, "pairs", list, where)
        return {self.value(key, where, depth + 1): self.value(value, where, depth + 1) for key, value in pairs}

    def _read_text(self, node: dict[str, Any], where: str, depth: int) -> Any:
        _, from_text = TEXT_FORMS[self._class(node, where)]
        return from_text(self._field(node, "value", str, where))

    def _read_numpy(self, node: dict[str, Any], where: str, depth: int) -> Any:
        dtype, value = self._field(node, "dtype", str, where), self._field(node, "value", str, where)
        if dtype == "str":
            return np.str_(value)
        if dtype == "bytes":
            return np.bytes_(bytes.fromhex(value))
        content = bytes.fromhex(value)
        if len(content) != plain_dtype(dtype).itemsize:
            raise ValueError(f"a {dtype} of {len(content)} bytes")
        scalars = np.frombuffer(content, plain_dtype(dtype))
        check_content(scalars)
        return scalars[0]

    def _read_dtype(self, node: dict[str, Any], where: str, depth: int) -> Any:
        name = self._field(node, "value", str, where)
        return np.dtype(object) if name == "|O" else plain_dtype(name)

    def _read_numpy_type(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return plain_dtype(self._field(node, "value", str, where)).type

    def _read_objects(self, node: dict[str, Any], where: str, depth: int) -> Any:
        values = [self.value(part, where, depth + 1) for part in self._field(node, "values", list, where)]
        return self.shaped(values, node, where)

    def shaped(self, values: list, node: dict[str, Any], where: str) -> np.ndarray:
        """Return an array of objects of the shape of a node."""
        shape = self._shape(node, where)
        if math.prod(shape) != len(values):
            raise ValueError(f"{len(values):,} values for an array of shape {shape}")
        return np.fromiter(values, object, len(values)).reshape(shape)

    def _shape(self, node: dict[str, Any], where: str) -> tuple[int, ...]:
        shape = self._field(node, "shape", list, where)
        if len(shape) > 32 or not all(type(length) is int and length >= 0 for length in shape):
            raise ValueError(f"shape {shown(shape)}")
        check_empty(tuple(shape), self.container.size)
        return tuple(shape)

    def _read_array(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return self._array(node, "name", where)

    def _read_records(self, node: dict[str, Any], where: str, depth: int) -> Any:
        fields = self._field(node, "fields", dict, where)
        columns = {name: self._array(fields, name, where) for name in fields}
        shapes = {column.shape for column in columns.values()}
        if len(shapes) != 1 or len(shape := shapes.pop()) != 1:
            raise ValueError("the fields of records must be vectors of the same length")
        records = np.empty(shape, [(name, column.dtype) for name, column in columns.items()])
        for name, column in columns.items():
            records[name] = column
        return records

    def _read_csr(self, node: dict[str, Any], where: str, depth: int) -> Any:
        with importing:
            from scipy import sparse

        kinds = {"matrix": sparse.csr_matrix, "array": sparse.csr_array}
        data, indices, indptr = (self._array(node, part, where) for part in ("data", "indices", "indptr"))
        shape = self._shape(node, where)
        is_whole = all(part.ndim == 1 and part.dtype in (np.int32, np.int64) for part in (indices, indptr))
        if not is_whole or data.ndim != 1 or data.dtype.kind not in "biufc" or len(shape) != 2:
            raise ValueError("not the parts of a CSR matrix")
        answer = kinds[self._field(node, "kind", str, where)]((data, indices, indptr), shape=shape)
        check_csr(answer, where)
        return answer

    def _read_sklearn(self, node: dict[str, Any], where: str, depth: int) -> Any:
        params, state = (self._named_values(node, key, where, depth) for key in ("params", "state"))
        return remade(self._field(node, "class", str, where), params, state)

    def _entry(self, node: dict[str, Any], key: str, where: str) -> str:
        """Return the name of the array that a node names, which no other node may name."""
        name = self._field(node, key, str, where)
        if name not in self.container.arrays:
            raise ModelFormatError(self.name, f"{where} is missing: there is no array {shown(name)}.")
        if name in self.used:
            raise ModelFormatError(self.name, f"{where} uses the array {shown(name)}, which is already used.")
        self.used.add(name)
        return name

    def _array(self, node: dict[str, Any], key: str, where: str) -> np.ndarray:
        return self.container.array(self._entry(node, key, where))


class _PartReader(_Reader):
    """Reads objects as records of their parts."""

    def _read_object(self, node: dict[str, Any], where: str, depth: int) -> Any:
        class_name = self._field(node, "class", str, where)
        return Part(class_name, *(self._named_values(node, key, where, depth) for key in ("params", "state")))

    def _read_sklearn(self, node: dict[str, Any], where: str, depth: int) -> Any:
        part = self._read_object(node, where, depth)
        return part._replace(class_name=f"sklearn.{part.class_name}")

    def _read_text(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return self._field(node, "value", str, where)

    def _read_csr(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return None


def _in_words(node: Any, reader: _Reader, depth: int = 0) -> Any:
    """Return a value of the header as a table or JSON can show it, arrays and estimators as short descriptions."""
    parts = functools.partial(_in_words, reader=reader, depth=depth + 1)
    if isinstance(node, list):
        return [parts(one) for one in node]
    kind = node.get("type", "object") if isinstance(node, dict) else None
    if kind == "object":
        described = {key: {name: parts(one) for name, one in node[key].items()} for key in ("params", "state")}
        return {"class": node["class"], **described}
    if kind == "sklearn":
        return f"{node['class']} of scikit-learn"
    if kind in ("text", "dtype"):
        return node["value"] if kind == "text" else str(np.dtype(node["value"]))
    if kind == "tuple":
        return parts(node["values"])
    if kind == "dict":
        return {_text(parts(key)): parts(one) for key, one in node["pairs"]}
    if kind == "objects":
        return reader.shaped([parts(one) for one in node["values"]], node, "").tolist()
    if kind == "array":
        entry = reader.container.arrays[node["name"]]
        return f"{entry.dtype} array of shape {entry.shape}"
    if kind == "records":
        shapes = [reader.container.arrays[name].shape for name in node["fields"].values()]
        return f"{shapes[0][0]} records of {', '.join(node['fields'])}" if shapes else "no records"
    if kind == "csr":
        return f"CSR matrix of shape {tuple(node['shape'])}"
    value = reader.value(node, "header", depth)  # a plain value, or one of numpy
    value = value.item() if isinstance(value, np.generic) else value
    return (
        value if value is None or isinstance(value, (bool, int, float, str)) else getattr(value, "__name__", str(value))
    )


def _text(key: Any) -> str:
    return key if isinstance(key, str) else str(tuple(key) if isinstance(key, list) else key)
