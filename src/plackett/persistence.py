"""Saving and loading estimators without pickle: a model file holds data, and loading it never runs code from it.

A model is one zip file, by convention with the ending ``.plackett``:

- ``model.json``: the format and its version, the version of plackett, the name of the class, its parameters as
  ``get_params(deep=False)`` gives them, and what was learned: every attribute whose name ends in an underscore and does
  not begin with one, and those that the class lists in ``_persisted``;
- ``arrays/0.npy``, ``arrays/1.npy``, …: numeric, boolean and text arrays, as numpy writes them;
- ``objects/0.skops``, …: transformers of scikit-learn, as skops writes them.

Members are stored as they are, without compression. Loading makes a fresh object of a class that was registered before
(:func:`register`) and sets its attributes; a name in a file is never imported. A class whose compiled code relies on
what it learned (lengths, indices) offers ``_check_loaded``, which raises a ``ValueError`` if these do not fit together.
"""

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import IO, Any, BinaryIO, TypeVar

import numpy as np

from plackett import __version__
from plackett.data.opening import BLOCK, name_of, write_bytes
from plackett.exceptions import ModelFormatError
from plackett.metrics.measure import Measure
from plackett.validation import is_sparse

FORMAT = "plackett model"
FORMAT_VERSION = 1
MAX_DEPTH = 64  # of values within values
MAX_RATIO = 100  # of what a file unpacks to, over its size
MAX_NPY_HEADER = 4096

_Class = TypeVar("_Class", bound=type)
_BY_NAME: dict[str, type] = {}
_NAME_OF: dict[type, str] = {}

# what may stand as "type" in model.json
_KINDS = frozenset(
    ("float", "bytes", "tuple", "dict", "measure", "numpy", "dtype", "numpy type", "objects", "array", "csr", "skops")
) | {"object"}


# --- The registry ----------------------------------------------------------------------------------------------------


def register(cls: _Class) -> _Class:
    """Let objects of ``cls`` be saved and loaded; usable as a decorator.

    A file names a class by its room and its own name (``plackett.losses.ListNet``), so that it can still be read after
    the class moved to another module of the room. Classes from elsewhere go by their module and name.

    Parameters
    ----------
    cls : type
        With ``get_params(deep=False)`` and an ``__init__`` that takes, and only stores, these parameters.

    Returns
    -------
    cls
    """
    name = _public_name(cls)
    known = _BY_NAME.get(name)
    if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"{name} is registered already, for the class of that name in {known.__module__}.")
    _BY_NAME[name] = cls
    _NAME_OF[cls] = name
    return cls


def registered(name: str) -> type:
    """The class that was registered under ``name``."""
    if name not in _BY_NAME:
        raise ValueError(f"{name!r} is not a registered class.")
    return _BY_NAME[name]


def _public_name(cls: type) -> str:
    parts = cls.__module__.split(".")
    home = parts[:2] if parts[0] == "plackett" else parts
    return ".".join([*home, cls.__qualname__])


# --- Saving ----------------------------------------------------------------------------------------------------------


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
    if type(estimator) not in _NAME_OF:
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
    """Turns values into what JSON can say; arrays and foreign objects are set aside for members of their own.

    Numbers, text, None and lists are themselves, everything else is ``{"type": ..., ...}``.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.objects: list[bytes] = []
        self.notes: list[str] = []

    def write(self, document: bytes, file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(_member("model.json"), document)
            for place, array in enumerate(self.arrays):
                with archive.open(_member(f"arrays/{place}.npy"), "w", force_zip64=array.nbytes > 1 << 30) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
            for place, content in enumerate(self.objects):
                archive.writestr(_member(f"objects/{place}.skops"), content)

    def object(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        """An object of a registered class: the name of the class, the parameters, and what was learned."""
        params = {}
        for name, param in value.get_params(deep=False).items():
            if isinstance(param, (np.random.Generator, np.random.RandomState)):
                self.notes.append(f"{where}.{name} was a {type(param).__name__} and is saved as None.")
                param = None
            params[name] = self.value(param, f"{where}.{name}", depth + 1)
        own = getattr(value, "__dict__", {})
        state = {
            name: self.value(own[name], f"{where}.{name}", depth + 1)
            for name in own
            if _is_learned(type(value), name) and name not in params
        }
        return {"class": _NAME_OF[type(value)], "params": params, "state": state}

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
        if kind in _NAME_OF:
            return {"type": "object", **self.object(value, where, depth)}
        if kind is Measure:
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
        if type(value).__module__.split(".")[0] == "sklearn" and hasattr(value, "get_params"):
            return self._foreign(value, where)
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

    def _foreign(self, value: Any, where: str) -> dict[str, str]:
        import skops.io  # here, because it imports all of scikit-learn

        try:
            content = skops.io.dumps(value)
            unknown = skops.io.get_untrusted_types(data=content)
        except Exception as error:  # whatever the object's own parts raise
            raise ValueError(f"{where} is a {type(value).__name__} that skops cannot save ({error}).") from error
        if unknown:
            raise ValueError(
                f"{where} is a {type(value).__name__} that holds {', '.join(unknown)}, which is not safe to load. "
                "Transform the data with it before fit and predict, and leave it out of the model."
            )
        self.objects.append(content)
        return {"type": "skops", "member": f"objects/{len(self.objects) - 1}.skops"}

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


def _is_learned(cls: type, name: str) -> bool:
    return (name.endswith("_") and not name.startswith("_")) or name in getattr(cls, "_persisted", ())


# --- Loading ---------------------------------------------------------------------------------------------------------


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
    if unpacked > MAX_RATIO * size:
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
            if not re.fullmatch(r"model\.json|arrays/[0-9]+\.npy|objects/[0-9]+\.skops", info.filename):
                raise ModelFormatError(name, f"it holds {info.filename!r}, which models do not.")
            self.members[info.filename] = info
        _check_sizes(archive, size)
        self.used = {"model.json"}
        self.document = self._checked_document(archive.read("model.json"))

    def _checked_document(self, content: bytes) -> dict[str, Any]:
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
        if class_name not in _BY_NAME:
            raise ModelFormatError(
                self.name,
                f"{where}: {_shown(class_name)} is not a class that plackett {__version__} loads ({self._origin()}). "
                "Nothing was run. If the class is your own, import it and call plackett.persistence.register first.",
            )
        cls = registered(class_name)
        params = self._named_values(node, "params", class_name, depth)
        state = self._named_values(node, "state", class_name, depth)
        known = signature(cls).parameters
        for name in params:
            if name not in known:
                raise ModelFormatError(
                    self.name,
                    f"{class_name} has no parameter {_shown(name)} in plackett {__version__} ({self._origin()}).",
                )
        answer = cls(**params)
        for name, value in state.items():
            if not _is_learned(cls, name) or name in params:
                raise ModelFormatError(self.name, f"{class_name}: {_shown(name)} is not something that is learned.")
            setattr(answer, name, value)
        check = getattr(answer, "_check_loaded", None)
        if check is not None:
            try:
                check()
            except _DAMAGE as error:
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
        if not isinstance(kind, str) or kind not in _KINDS:
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
        answer.check_format(full_check=True)  # compiled code trusts the indices
        return answer

    def _read_skops(self, node: dict[str, Any], where: str, depth: int) -> Any:
        import skops.io
        from skops.io.exceptions import UntrustedTypesFoundException

        content = self.archive.read(self._use(node, "member", "objects/", where))
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as inner:
                _check_sizes(inner, len(content))
            answer = skops.io.loads(content, trusted=None)
        except UntrustedTypesFoundException as error:
            raise ModelFormatError(
                self.name, f"{where} is refused, and nothing in it was run: {_one_line(error)}"
            ) from error
        except Exception as error:  # skops does not say what it raises for damaged content
            raise ModelFormatError(self.name, f"{where} is not valid ({_one_line(error)}).") from error
        if type(answer).__module__.split(".")[0] != "sklearn" or not hasattr(answer, "get_params"):
            raise ModelFormatError(self.name, f"{where} is a {type(answer).__name__}, not of scikit-learn.")
        return answer

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
        return f"{dtype} array of shape {shape}"

    def _read_csr(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return f"CSR matrix of shape {self._shape(node, where)}"

    def _read_skops(self, node: dict[str, Any], where: str, depth: int) -> Any:
        return "object of scikit-learn"


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
