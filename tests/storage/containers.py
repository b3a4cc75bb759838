"""Taking containers apart and signing changed ones again, for tests of files that were tampered with."""

from __future__ import annotations

import hashlib
import json
import zlib

import numpy as np

from plackett.storage import container
from plackett.storage.checksums import BLOCK


def parts_of(content):
    """The directory of a container, and the bytes before it."""
    start, length, _, _ = container._TAIL.unpack(content[-container._TAIL.size :])
    return json.loads(content[start : start + length]), content[:start]


def signed(directory, body):
    """A container of this directory and these bytes, with valid checksums."""
    if isinstance(directory, dict) and "blocks" in directory:
        directory = directory | {"blocks": [zlib.crc32(body[k : k + BLOCK]) for k in range(0, len(body), BLOCK)]}
    return sealed(json.dumps(directory).encode(), body)


def sealed(text, body):
    """A container of a directory that need not be JSON."""
    digest = hashlib.blake2b(text, digest_size=16).digest()
    return body + text + container._TAIL.pack(len(body), len(text), digest, container.MAGIC)


def array_in(directory, body, name):
    """An array of a container."""
    entry = directory["arrays"][name]
    dtype, shape = np.dtype(entry["dtype"]), entry["shape"]
    n = int(np.prod(shape))
    return np.frombuffer(body, dtype, n, entry["offset"]).reshape(shape, order=entry.get("order", "C"))


def with_array(directory, body, name, array):
    """The directory and the bytes with another array of this name, appended to the others."""
    start = -(-len(body) // container.ALIGNMENT) * container.ALIGNMENT
    content = np.ascontiguousarray(array).tobytes()
    entry = {"dtype": array.dtype.str, "shape": list(array.shape), "offset": start}
    directory = directory | {"arrays": directory["arrays"] | {name: entry}}
    body = body.ljust(start, b"\0") + content
    return directory, body.ljust(-(-len(body) // container.ALIGNMENT) * container.ALIGNMENT, b"\0")
