"""Files of object stores and other file systems, through fsspec: readers get local copies, writers upload at the end.

Pipes are copied, too, if they are to be read twice.

Credentials come from the environment and the configuration of fsspec only, or from the file system of a ``UPath``.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, ParamSpec, TypeVar

from plackett._optional import import_optional

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
_SECRETS = re.compile(r"(?<=://)[^/@\s]*@|\?\S*")  # user and password, and signed queries
COPIES: dict[str, str] = {}  # temporary copies of pipes -> the names of the pipes
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class _Place(NamedTuple):
    """A file system of fsspec, and a path in it."""

    files: Any
    path: str


def is_remote(source: object) -> bool:
    """Return whether ``source`` is a URL such as ``s3://bucket/lists.parquet``, or a ``UPath`` of such a place."""
    if isinstance(source, str):
        return _URL.match(source) is not None
    protocol = getattr(source, "protocol", None)
    return hasattr(source, "fs") and not hasattr(source, "read") and protocol not in (None, "", "file", "local")


def shown(source: object) -> str:
    """Return a path or URL for messages, settings and reports, without credentials."""
    return _SECRETS.sub("", str(source)) if is_remote(source) else str(os.fspath(source))  # type: ignore[call-overload]


def local_files(reader: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Wrap a reader such that URLs among its arguments, also in lists, become local copies of their files."""

    @functools.wraps(reader)
    def wrapped(*args: Any, **given: Any) -> Any:
        copies: dict[str, str] = {}
        for name, value in given.items():
            given[name] = value if name == "cache" else _local(value, copies)
        try:
            return reader(*[_local(value, copies) for value in args], **given)
        except (ValueError, OSError) as error:  # names the copy
            for copy, url in (copies | COPIES).items():
                error.args = tuple(part.replace(copy, url) if isinstance(part, str) else part for part in error.args)
                for name in ("path", "filename"):
                    if isinstance(named := getattr(error, name, None), str):
                        setattr(error, name, named.replace(copy, url))
            raise

    return wrapped


def urls_of(url: str) -> list[str]:
    """Return the URLs of the files that a URL means: those of a pattern, the Parquet files of a folder, or itself."""
    place, paths = _matched(url)
    with _naming(url):
        if not _is_web(url) and place.files.isdir(place.path):
            paths = [path for path in sorted(place.files.find(place.path)) if path.endswith(".parquet")]
        return [url] if paths == [place.path] else [place.files.unstrip_protocol(path) for path in paths]


def head_of(url: str, n: int) -> bytes:
    """Return the first bytes of the file of a URL."""
    place = _place(url)
    with _naming(url):
        return place.files.cat_file(place.path, end=n)


def copy_of_pipe(source: str | os.PathLike, name: str) -> str:
    """Return the path of a copy of standard input, a pipe or a device."""
    path = os.path.join(tempfile.mkdtemp(dir=_temporary_folder()), "pipe")
    with open(path, "wb") as copy, contextlib.ExitStack() as stack:
        shutil.copyfileobj(sys.stdin.buffer if source == "-" else stack.enter_context(open(source, "rb")), copy)
    COPIES[path] = name
    return path


@contextlib.contextmanager
def uploaded(target: Any) -> Iterator[str]:
    """Yield a local path whose content is uploaded to a URL at the end; after an error nothing is."""
    place = _place(target)
    with tempfile.TemporaryDirectory(prefix="plackett-") as folder:
        local = os.path.join(folder, os.path.basename(place.path))
        yield local
        with _naming(target):
            place.files.put(local, place.path, recursive=os.path.isdir(local))


def _local(value: Any, copies: dict[str, str]) -> Any:
    if isinstance(value, list | tuple) and any(map(is_remote, value)):
        found = [_local(one, copies) for one in value]
        return [path for one in found for path in (one if isinstance(one, list) else [one])]
    if not is_remote(value):
        return value
    place, paths = _matched(value)
    with _naming(value):
        found = [_copy(place.files, path, is_web=_is_web(value)) for path in paths]
    copies |= dict.fromkeys(found, shown(value)) if len(found) == 1 else zip(found, paths, strict=True)
    return found[0] if len(found) == 1 else found


def _is_web(source: Any) -> bool:
    return str(source).startswith("http")


def _matched(source: Any) -> tuple[_Place, list[str]]:
    """Return the file system of a URL, and the paths that it matches if it is a pattern, else its own."""
    place = _place(source)
    if _is_web(source) or not re.search(r"[*?\[]", place.path):
        return place, [place.path]
    with _naming(source):
        found = sorted(place.files.glob(place.path))
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file matches", shown(source))
    return place, found


def _copy(files: Any, path: str, *, is_web: bool) -> str:
    """Return a local copy of a file or a folder, which is made once while the original does not change."""
    is_folder = not is_web and files.isdir(path)
    key = repr([files.to_json(), path, None if is_folder else files.ukey(path)])
    parent = os.path.join(_folder(), hashlib.blake2b(key.encode(), digest_size=16).hexdigest())
    local = os.path.join(parent, os.path.basename(path.rstrip("/")) or "file")
    if is_folder or not os.path.exists(local):
        draft = tempfile.mkdtemp(dir=_folder())
        files.get(path, os.path.join(draft, "copy"), recursive=is_folder)
        shutil.rmtree(parent, ignore_errors=True)
        os.makedirs(parent)
        os.replace(os.path.join(draft, "copy"), local)
        os.rmdir(draft)
    return local


@functools.cache
def _folder() -> str:
    """Return the folder of local copies: in ``PLACKETT_CACHE``, where they are kept, or until the process ends."""
    if wanted := os.environ.get("PLACKETT_CACHE"):
        folder = os.path.join(wanted, "remote")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return folder
    return _temporary_folder()


@functools.cache
def _temporary_folder() -> str:
    folder = tempfile.mkdtemp(prefix="plackett-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _place(source: Any) -> _Place:
    if not isinstance(source, str):
        return _Place(source.fs, source.path)
    core = import_optional("fsspec.core", extra="remote", needed_for=f"{shown(source).partition('://')[0]}://")
    with _naming(source):
        return _Place(*core.url_to_fs(source))


@contextlib.contextmanager
def _naming(source: Any) -> Iterator[None]:
    """Turn errors of fsspec into errors that name the URL, without credentials."""
    name = shown(source)
    try:
        yield
    except ImportError as error:
        raise ModuleNotFoundError(f"{name} needs a further package: {error}.") from error
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "there is no such file", name) from None
    except Exception as error:  # each file system has its own
        reason = f"{type(error).__name__}: {_SECRETS.sub('', str(error))}"
        raise OSError(errno.EIO, f"the file system failed ({reason})", name) from None
