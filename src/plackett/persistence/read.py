"""Loading: what :func:`save` would write, checked at every step, and nothing else."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import IO, Any, BinaryIO

import numpy as np

from plackett import __version__
from plackett.exceptions import ModelFormatError
from plackett.metrics.measure import Measure
from plackett.persistence.foreign import remade
from plackett.persistence.layout import (
    BYTES_PER,
    FORMAT,
    FORMAT_VERSION,
    KINDS,
    MAX_DEPTH,
    MAX_EMPTY,
    MAX_NPY_HEADER,
    MAX_RATIO,
    ROOM,
    SMALL,
    is_learned,
)
from plackett.persistence.names import is_registered, registered
from plackett.storage.opening import BLOCK, name_of
from plackett.validation import check_csr


def load(path: str | os.PathLike | IO[bytes]) -> Any:
    """The estimator that :func:`save` wrote.

    Nothing in the file is run or imported: classes come from the registry, and whatever does not look as ``save``
    writes it is refused. Parameters that the file lacks, because it is older, have their defaults.

    Parameters
    ----------
    path : str, path or binary file object

    Raises
    ------
    ModelFormatError
        If the file is not a model, is damaged, or asks for what this version does not have.
    """
    with _opened(path, _Reader) as reader:
        estimator = reader.model()
        unnamed = sorted(set(reader.members) - reader.used)
        if unnamed:
            raise ModelFormatError(reader.name, f"it holds {unnamed[0]}, which the model does not use.")
    return estimator


def describe(path: str | os.PathLike | IO[bytes]) -> dict[str, Any]:
    """What a model file says of itself, as plain values; no array is read and no class is needed.

    Parameters
    ----------
    path : str, path or binary file object

    Returns
    -------
    dict
        ``class`` (its name), ``params`` and ``state`` (by name; arrays are described in words), ``plackett`` (the
        version that wrote it), ``version`` (of the format), ``notes`` (list of str) and ``bytes`` (size of the file).
    """
    with _opened(path, _Describer) as reader:
        answer = {key: reader.document[key] for key in ("plackett", "version", "notes")}
        return {**reader.model(), **answer, "bytes": reader.size}


@contextmanager
def _opened(path: str | os.PathLike | IO[bytes], kind: Callable[..., Any]) -> Iterator[Any]:
    """A reader of the model at ``path``; whatever goes wrong with its content becomes a ModelFormatError."""
    name = name_of(path)
    file: Any = open(path, "rb") if isinstance(path, (str, os.PathLike)) else io.BytesIO(path.read())  # noqa: SIM115
    if not file.seekable():  # a pipe; the directory of a zip file is at its end
        with file:
            file = io.BytesIO(file.read())
    with file:
        try:
            with _archive(file, name) as archive:
                yield kind(archive, file.seek(0, io.SEEK_END), name)
        except ModelFormatError:
            raise
        except RecursionError as error:
            raise ModelFormatError(name, "it holds values within values without end.") from error
        except OSError as error:
            if error.errno != errno.EINVAL:  # which is a place outside of the file
                raise
            raise ModelFormatError(name, f"the file is damaged ({error}).") from error
        except _DAMAGE as error:
            raise ModelFormatError(name, f"the file is damaged ({_one_line(error)}).") from error


_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError),
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError),
)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _archive(file: BinaryIO, name: str) -> zipfile.ZipFile:
    head = file.read(4)
    if head != b"PK\x03\x04":
        kind = "is empty" if not head else "begins as a pickle does" if head[0] == 0x80 else "is no zip file"
        raise ModelFormatError(name, f"this is not a plackett model: it {kind}. Nothing in it was run.")
    try:
        return zipfile.ZipFile(file)
    except Exception as error:  # zipfile raises many kinds for a damaged directory
        raise ModelFormatError(name, f"the file is damaged or ends too early ({_one_line(error)}).") from error


def _check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse what would unpack to far more than the file holds, before anything is unpacked."""
    members = archive.infolist()
    for info in members:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
            raise ValueError(f"{info.filename!r} is packed in a way that models are not")
        if info.compress_type == zipfile.ZIP_STORED and info.compress_size != info.file_size:
            raise ValueError(f"{info.filename!r} declares two sizes")
    if sum(info.compress_size for info in members) > size:
        raise ValueError("its members declare more bytes than the file has")
    unpacked = sum(info.file_size for info in members)
    if unpacked > max(SMALL, MAX_RATIO * size):
        raise ValueError(f"{size:,} bytes that unpack to {unpacked:,} are no model")


class _Reader:
    """Reads values as ``_Writer`` writes them, and nothing else.

    Attributes
    ----------
    document : dict
        What ``model.json`` says.
    members : dict of str to ZipInfo
    used : set of str
        The members that were read; each is read once, so that a small file cannot ask for many copies.
    """

    def __init__(self, archive: zipfile.ZipFile, size: int, name: str):
        self.archive, self.size, self.name = archive, size, name
        self.members: dict[str, zipfile.ZipInfo] = {}
        if "model.json" not in archive.namelist():
            raise ModelFormatError(name, "this is not a plackett model: it is a zip file without model.json.")
        for info in archive.infolist():
            if info.filename in self.members:
                raise ModelFormatError(name, f"it holds {info.filename!r} twice.")
            if not re.fullmatch(r"model\.json|arrays/[0-9]+\.npy", info.filename):
                raise ModelFormatError(name, f"it holds {info.filename!r}, which models do not.")
            self.members[info.filename] = info
        _check_sizes(archive, size)
        self.used = {"model.json"}
        self.document = self._checked_document(archive.read("model.json"))

    def _checked_document(self, content: bytes) -> dict[str, Any]:
        needed = sum(content.count(mark) * cost for mark, cost in BYTES_PER.items())
        if needed > ROOM + 4 * self.size:
            raise ModelFormatError(self.name, "model.json holds more values than a model of this size.")
        try:
            document = json.loads(content.decode("utf-8"), parse_constant=_no_constant)
        except ValueError as error:
            raise ModelFormatError(self.name, f"model.json is not valid JSON ({_one_line(error)}).") from error
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ModelFormatError(self.name, f'this is not a plackett model: model.json lacks "format": "{FORMAT}".')
        version = document.get("version")
        if type(version) is not int or version != FORMAT_VERSION:
            raise ModelFormatError(
                self.name,
                f"it has version {_shown(version)} of the format and was written by plackett "
                f"{_shown(document.get('plackett'))}; plackett {__version__} reads version {FORMAT_VERSION}.",
            )
        self._field(document, "plackett", str, "model.json")
        notes = self._field(document, "notes", list, "model.json")
        if not all(isinstance(note, str) for note in notes):
            raise ModelFormatError(self.name, "model.json: notes must be text.")
        return document

    def model(self) -> Any:
        return self._read_object(self.document, "model.json", 0)

    def _field(self, node: dict[str, Any], key: str, kind: type, where: str) -> Any:
        value = node.get(key)
        if type(value) is not kind:
            found = "nothing" if value is None else _shown(value)
            raise ModelFormatError(self.name, f'{where}: "{key}" must be of type {kind.__name__}, found {found}.')
        return value

    def _read_object(self, node: dict[str, Any], where: str, depth: int) -> Any:
        class_name = self._field(node, "class", str, where)
        if not is_registered(class_name):
            raise ModelFormatError(
                self.name,
                f"{where}: {_shown(class_name)} is not a class that plackett {__version__} loads ({self._origin()}). "
                "Nothing was run. If the class is your own, import it and call plackett.persistence.register first.",
            )
        cls = registered(class_name)
        params = self._named_values(node, "params", class_name, depth)
        state = self._named_values(node, "state", class_name, depth)
        known = signature(cls).parameters
        takes_any = any(param.kind is param.VAR_KEYWORD for param in known.values())  # it checks names itself
        for name in params:
            if name not in known and not takes_any:
                raise ModelFormatError(
                    self.name,
                    f"{class_name} has no parameter {_shown(name)} in plackett {__version__} ({self._origin()}).",
                )
        answer = cls(**params)
        for name, value in state.items():
            if not is_learned(cls, name) or name in params:
                raise ModelFormatError(self.name, f"{class_name}: {_shown(name)} is not something that is learned.")
            setattr(answer, name, value)
        check = getattr(answer, "_check_loaded", None)
        if check is not None:
            try:
                check()
            except Exception as error:  # a check may run compiled code, whose errors are of many kinds
                raise ModelFormatError(self.name, f"{class_name}: {_one_line(error)}") from error
        return answer

    def _origin(self) -> str:
        return f"the file was written by plackett {_shown(self.document['plackett'])}"

    def _named_values(self, node: dict[str, Any], key: str, where: str, depth: int) -> dict[str, Any]:
        nodes = self._field(node, key, dict, where)
        return {name: self.value(part, f"{where}.{name}", depth + 1) for name, part in nodes.items()}

    def value(self, node: Any, where: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ModelFormatError(self.name, f"it holds values within values more than {MAX_DEPTH} deep.")
        if isinstance(node, list):
            return [self.value(part, where, depth + 1) for part in node]
        if not isinstance(node, dict):
            return node
        kind = node.get("type")
        if not isinstance(kind, str) or kind not in KINDS:
            raise ModelFormatError(self.name, f"{where} is of the unknown type {_shown(kind)}.")
        try:
            return getattr(self, f"_read_{kind.replace(' ', '_')}")(node, where, depth)
        except (ModelFormatError, RecursionError):
            raise
        except _DAMAGE as error:
            raise ModelFormatError(self.name, f"{where} is not valid ({_one_line(error)}).") from error

    def _read_float(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return float(self._field(node, "value", str, where))

    def _read_bytes(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return bytes.fromhex(self._field(node, "hex", str, where))

    def _read_tuple(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return tuple(self.value(part, where, depth + 1) for part in self._field(node, "values", list, where))

    def _read_dict(self, node: dict[str, Any], where: str, depth: int) -> Any:
        pairs = self._field(node, "pairs", list, where)
        return {self.value(key, where, depth + 1): self.value(value, where, depth + 1) for key, value in pairs}

    def _read_measure(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return Measure.parse(self._field(node, "value", str, where))

    def _read_numpy(self, node: dict[str, Any], where: str, depth: int) -> Any:
        dtype, value = self._field(node, "dtype", str, where), self._field(node, "value", str, where)
        if dtype == "str":
            return np.str_(value)
        if dtype == "bytes":
            return np.bytes_(bytes.fromhex(value))
        content = bytes.fromhex(value)
        if len(content) != _plain_dtype(dtype).itemsize:
            raise ValueError(f"a {dtype} of {len(content)} bytes")
        scalars = np.frombuffer(content, _plain_dtype(dtype))
        _check_content(scalars)
        return scalars[0]

    def _read_dtype(self, node: dict[str, Any], where: str, depth: int) -> Any:
        name = self._field(node, "value", str, where)
        return np.dtype(object) if name == "|O" else _plain_dtype(name)

    def _read_numpy_type(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return _plain_dtype(self._field(node, "value", str, where)).type

    def _read_objects(self, node: dict[str, Any], where: str, depth: int) -> Any:
        values, shape = self._field(node, "values", list, where), self._shape(node, where)
        if math.prod(shape) != len(values):
            raise ValueError(f"{len(values):,} values for an array of shape {shape}")
        array = np.empty(len(values), dtype=object)
        for place, part in enumerate(values):
            array[place] = self.value(part, where, depth + 1)
        return array.reshape(shape)

    def _shape(self, node: dict[str, Any], where: str) -> tuple[int, ...]:
        shape = self._field(node, "shape", list, where)
        if len(shape) > 32 or not all(type(length) is int and length >= 0 for length in shape):
            raise ValueError(f"shape {_shown(shape)}")
        _check_empty(shape, self.size)
        return tuple(shape)

    def _read_array(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return self._array(node, "member", where)

    def _read_csr(self, node: dict[str, Any], where: str, depth: int) -> Any:
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

    def _use(self, node: dict[str, Any], key: str, folder: str, where: str) -> zipfile.ZipInfo:
        """The member that a node names."""
        member = self._field(node, key, str, where)
        if member not in self.members or not member.startswith(folder):
            raise ModelFormatError(self.name, f"{where} is missing: there is no member {_shown(member)}.")
        if member in self.used:
            raise ModelFormatError(self.name, f"{where} uses {member}, which is used already.")
        self.used.add(member)
        return self.members[member]

    def _array(self, node: dict[str, Any], key: str, where: str) -> np.ndarray:
        info = self._use(node, key, "arrays/", where)
        with self.archive.open(info) as member:
            dtype, is_fortran, shape = _read_npy_header(member, info.file_size)
            _check_empty(shape, self.size)
            array = np.empty(math.prod(shape), dtype)
            target, done = memoryview(array.view(np.uint8)), 0  # type: ignore[arg-type]
            while done < len(target):
                count = member.readinto(target[done : done + BLOCK])  # type: ignore[attr-defined]
                if not count:
                    raise ValueError(f"{info.filename} ends too early")
                done += count
            if member.read(1):  # at the end zipfile compares the check sum
                raise ValueError(f"{info.filename} is too long")
        _check_content(array)
        return array.reshape(shape, order="F" if is_fortran else "C")


class _Describer(_Reader):
    """Reads values as plain ones that a table or JSON can show, and arrays and objects as words about them."""

    def _read_object(self, node: dict[str, Any], where: str, depth: int) -> Any:
        class_name = self._field(node, "class", str, where)
        return {
            "class": class_name,
            **{key: self._named_values(node, key, where, depth) for key in ("params", "state")},
        }

    def _read_bytes(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return repr(super()._read_bytes(node, where, depth))

    def _read_tuple(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return list(super()._read_tuple(node, where, depth))

    def _read_dict(self, node: dict[str, Any], where: str, depth: int) -> Any:
        pairs = self._field(node, "pairs", list, where)
        return {_text(self.value(key, where, depth + 1)): self.value(part, where, depth + 1) for key, part in pairs}

    def _read_measure(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return self._field(node, "value", str, where)

    def _read_numpy(self, node: dict[str, Any], where: str, depth: int) -> Any:
        value = super()._read_numpy(node, where, depth).item()
        return value if isinstance(value, (bool, int, float, str)) else str(value)

    def _read_dtype(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return str(super()._read_dtype(node, where, depth))

    def _read_numpy_type(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return super()._read_numpy_type(node, where, depth).__name__

    def _read_objects(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return super()._read_objects(node, where, depth).tolist()

    def _read_array(self, node: dict[str, Any], where: str, depth: int) -> Any:
        info = self._use(node, "member", "arrays/", where)
        with self.archive.open(info) as member:
            dtype, _, shape = _read_npy_header(member, info.file_size)
        _check_empty(shape, self.size)
        return f"{dtype} array of shape {shape}"

    def _read_csr(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return f"CSR matrix of shape {self._shape(node, where)}"

    def _read_sklearn(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return f"{self._field(node, 'class', str, where)} of scikit-learn"


def _check_empty(shape: Sequence[int], size: int) -> None:
    """Refuse an array without values that is longer than the file: rows of nothing take no room in it."""
    if 0 in shape and max(shape) > max(MAX_EMPTY, size):
        raise ValueError(f"an array without values of shape {tuple(shape)}")


def _read_npy_header(file: IO[bytes], size: int) -> tuple[np.dtype, bool, tuple[int, ...]]:
    """Type, order and shape of the array in a member of ``size`` bytes, which must be as long as these say.

    A pattern does it: numpy's own reader evaluates the text.
    """
    head = file.read(8)
    width = {b"\x93NUMPY\x01\x00": 2, b"\x93NUMPY\x02\x00": 4}.get(head)
    if width is None:
        raise ValueError("not an array of numpy")
    length = int.from_bytes(file.read(width), "little")
    if length > MAX_NPY_HEADER:
        raise ValueError(f"an array with a header of {length:,} bytes")
    match = _NPY_HEADER.fullmatch(file.read(length))
    if match is None:
        raise ValueError("an array of another type than numbers, booleans or text")
    dtype = _plain_dtype(match["dtype"].decode("ascii"))
    shape = tuple(int(part) for part in match["shape"].split(b",") if part.strip())
    if math.prod(shape) * dtype.itemsize != size - len(head) - width - length:
        raise ValueError(f"{size:,} bytes for an array of type {dtype} and shape {shape}")
    return dtype, match["fortran"] == b"True", shape


_NPY_HEADER = re.compile(
    rb"\{\s*'descr': *'(?P<dtype>[^']{1,20})', *'fortran_order': *(?P<fortran>True|False), *"
    rb"'shape': *\((?P<shape>(\d{1,19}, *)*(\d{1,19})?)\) *,? *\}\s*"
)


def _plain_dtype(name: str) -> np.dtype:
    if re.fullmatch(r"[<>|][biufcSU][0-9]{1,9}", name) is None or np.dtype(name).itemsize == 0:
        raise ValueError(f"{_shown(name)} is not a type of numbers, booleans or text")
    return np.dtype(name)


def _check_content(array: np.ndarray) -> None:
    """Refuse bytes that numpy takes for booleans or letters but that are none."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise ValueError("booleans that are neither true nor false")
    if array.dtype.kind == "U" and array.size:
        letters = array.view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if letters.max() > 0x10FFFF:
            raise ValueError("text with letters that do not exist")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _text(key: Any) -> str:
    return key if isinstance(key, str) else str(tuple(key) if isinstance(key, list) else key)


def _shown(value: Any) -> str:
    """A value of a file, short enough for a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
