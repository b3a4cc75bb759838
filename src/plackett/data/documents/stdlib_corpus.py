"""A built-in text collection: the documentation of Python's standard library.

Modules, classes, methods and functions are the documents; queries are drawn from their texts. The same Python on the
same system gives the same collection.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import importlib
import inspect
import random
import re
import types
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from plackett.data.documents.collections import TextCollection
from plackett.data.trec.qrels import Qrels
from plackett.validation import check_positive_int

# modules without side effects on import: no windows, no tests, no debugger, nothing deprecated
MODULES = re.findall(
    r"\S+",
    """
    abc argparse array ast asyncio base64 bdb binascii bisect bz2 calendar cmath cmd code codecs codeop collections
    collections.abc colorsys compileall concurrent.futures configparser contextlib contextvars copy copyreg csv ctypes
    dataclasses datetime decimal difflib dis email email.message email.parser email.policy enum errno faulthandler
    filecmp fileinput fnmatch fractions ftplib functools gc getopt getpass gettext glob graphlib gzip hashlib heapq hmac
    html html.parser http http.client http.cookies http.server imaplib importlib importlib.metadata importlib.resources
    importlib.util inspect io ipaddress itertools json json.decoder json.encoder keyword linecache locale logging
    logging.config logging.handlers lzma mailbox marshal math mimetypes mmap modulefinder multiprocessing
    multiprocessing.pool multiprocessing.shared_memory netrc numbers operator optparse os os.path pathlib pickle
    pickletools pkgutil platform plistlib poplib pprint profile pstats py_compile pyclbr pydoc queue quopri random re
    reprlib runpy sched secrets select selectors shelve shlex shutil signal smtplib socket socketserver sqlite3 ssl stat
    statistics string stringprep struct subprocess symtable sys sysconfig tabnanny tarfile tempfile textwrap threading
    time timeit token tokenize trace traceback tracemalloc types typing unicodedata unittest unittest.mock urllib.error
    urllib.parse urllib.request urllib.response urllib.robotparser uuid venv warnings wave weakref webbrowser wsgiref
    xml.dom xml.dom.minidom xml.etree.ElementTree xml.parsers.expat xml.sax xmlrpc.client zipapp zipfile zipimport zlib
    zoneinfo
    """,
)

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_WORD = re.compile(r"[a-z]{3,}")
_TOO_COMMON = 0.05  # share of the documents above which a word is not used in queries


class _Item(NamedTuple):
    name: str
    parent: int  # -1 for a module without one
    signature: str
    body: str


def read_stdlib(*, n_queries: int = 200, n_words: int = 4, seed: int = 0) -> TextCollection:
    """Return the documentation of Python's standard library, with known-item queries.

    Documents are the modules, classes, methods and functions that have a docstring; ``title`` is the dotted name,
    ``signature`` the arguments, ``body`` the docstring. ``links["containment"]`` ties a module to what it defines, a
    class to its methods and a package to its modules, in both directions. A query consists of words of one docstring,
    without common words and words of the document's name; that document is the relevant one.

    The content depends on the version of Python and on the system; for one installation it is always the same.

    Parameters
    ----------
    n_queries : int, default=200
        Number of known-item queries; fewer if there are not enough texts.
    n_words : int, default=4
        Words per query.
    seed : int, default=0
        Seed of the random draws.

    Examples
    --------
    >>> from plackett import datasets
    >>> collection = datasets.read_stdlib()
    >>> collection.document("heapq.heappush")["signature"]
    '(heap, item, /)'
    >>> len(collection.queries["1"].split())
    4
    """
    n_queries, n_words = check_positive_int(n_queries, "n_queries"), check_positive_int(n_words, "n_words")
    items = _items()
    names, parents, signatures, bodies = map(list, zip(*items, strict=True))
    links = [(place, parent, 1) for place, parent in enumerate(parents) if parent >= 0]
    both = sorted(links + [(parent, place, weight) for place, parent, weight in links])
    queries, relevant = _known_items(items, n_queries, n_words, seed)
    return TextCollection(
        "python-stdlib",
        names,
        {"title": names, "signature": signatures, "body": bodies},
        queries,
        {},
        Qrels(list(queries), relevant, np.ones(len(queries))),
        {"containment": np.array(both, dtype=np.int64).reshape(-1, 3)},
    )


@functools.cache
def _items() -> tuple[_Item, ...]:
    """Return every documented object once, under its first name."""
    items: list[_Item] = []
    places: dict[str, int] = {}
    seen: set[int] = set()
    for name in MODULES:
        module = _imported(name)
        if module is None or id(module) in seen:
            continue
        seen.add(id(module))
        places[name] = _add(items, name, places.get(name.rpartition(".")[0], -1), module, always=True)
        for label, member in _members(module):
            if id(member) in seen:
                continue
            seen.add(id(member))
            place = _add(items, f"{name}.{label}", places[name], member)
            if place >= 0 and inspect.isclass(member):
                for method_label, method in _methods(member):
                    _add(items, f"{name}.{label}.{method_label}", place, method)
    return tuple(items)


def _imported(name: str) -> types.ModuleType | None:
    """Return the module, or None if this system or version does not have it."""
    with warnings.catch_warnings(), contextlib.suppress(ImportError):
        warnings.simplefilter("ignore")
        return importlib.import_module(name)
    return None


def _add(items: list[_Item], name: str, parent: int, thing: Any, *, always: bool = False) -> int:
    """Add an object with its docstring; return its position, or -1 for an object without one."""
    text = getattr(thing, "__doc__", None)
    body = inspect.cleandoc(text).strip() if isinstance(text, str) else ""
    if not body and not always:
        return -1
    # another package may turn `..` in a docstring into ``..``
    items.append(_Item(name, parent, _signature(thing), _ADDRESS.sub("", body).replace("``", "`")))
    return len(items) - 1


def _signature(thing: Any) -> str:
    if inspect.ismodule(thing):
        return ""
    try:
        signature = inspect.signature(thing)
    except (ValueError, TypeError, AttributeError):  # unknown for many compiled functions; the last from 3.13 on
        return ""
    # the text of a default may depend on other packages in this process
    arguments = [
        argument if _is_plain(argument.default) else argument.replace(default=_SOMETHING)
        for argument in signature.parameters.values()
    ]
    return _ADDRESS.sub("", str(signature.replace(parameters=arguments)))


class _Something:
    """Placeholder for a default value that is not shown."""

    def __repr__(self) -> str:
        return "..."


_SOMETHING = _Something()


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str, bytes) or isinstance(value, (type, enum.Enum))


_REPLACED = {  # replaced by packages and shells; the corpus must be the same in every process
    "inspect": ("getfile",),
    "sys": ("breakpointhook", "displayhook", "excepthook", "unraisablehook"),
    "threading": ("excepthook",),
    "warnings": ("showwarning", "formatwarning"),
}


def _members(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the public classes and functions of a module, by name."""
    is_listed = hasattr(module, "__all__")
    for name in sorted(set(module.__all__ if is_listed else vars(module))):
        member = vars(module).get(name)
        if name.startswith("_") or not (inspect.isclass(member) or inspect.isroutine(member)):
            continue
        if name in _REPLACED.get(module.__name__, ()):
            continue
        if is_listed or getattr(member, "__module__", None) == module.__name__:
            yield name, member


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class defines itself, by name."""
    for name in sorted(vars(kind)):
        member = vars(kind)[name]
        if name.startswith("_"):
            continue
        if isinstance(member, (staticmethod, classmethod)):
            member = member.__func__
        if inspect.isroutine(member) or isinstance(member, (property, functools.cached_property)):
            yield name, member


def _known_items(items: tuple[_Item, ...], n_queries: int, n_words: int, seed: int) -> tuple[dict[str, str], list[str]]:
    """Return queries by number, and the name of the relevant document of each."""
    words = [sorted(set(_WORD.findall(item.body.lower()))) for item in items]
    n_holding = Counter(word for held in words for word in held)
    most = _TOO_COMMON * len(items)
    draw = random.Random(seed)
    order = draw.sample(range(len(items)), len(items))
    queries: dict[str, str] = {}
    relevant: list[str] = []
    for place in order:
        of_name = set(_WORD.findall(items[place].name.lower()))
        telling = [word for word in words[place] if n_holding[word] <= most and word not in of_name]
        if len(telling) >= 2 * n_words:
            queries[str(len(queries) + 1)] = " ".join(draw.sample(telling, n_words))
            relevant.append(items[place].name)
        if len(queries) == n_queries:
            break
    return queries, relevant
