"""Mutations of bytes, of JSON and of arrays as numpy writes them."""

from __future__ import annotations

import re

import numpy as np

NUMBERS = (0, 1, -1, 2, 7, 255, 2**15, 2**16 - 1, 2**30, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, 10**30)
FLOATS = (0.0, -0.0, 0.5, 1e-300, 1e300, -1e300, float("nan"), float("inf"), float("-inf"))


def one_of(values, rng):
    """Return one of some values, with equal probabilities."""
    return values[int(rng.integers(len(values)))]


def mutate_bytes(content: bytes, rng: np.random.Generator, others: list[bytes] = ()) -> bytes:
    """Return the content after one to four random changes; parts may come from ``others``."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(len(data) + 1))
        length = int(min(rng.geometric(0.1), len(data) - place))
        change = int(rng.integers(9))
        if change == 0 and place < len(data):
            data[place] ^= 1 << int(rng.integers(8))
        elif change == 1:
            data[place : place + length] = rng.bytes(length)
        elif change == 2:
            del data[place : place + length]
        elif change == 3:
            data[place:place] = rng.bytes(length)
        elif change == 4:
            data[place:place] = data[place : place + length] * int(rng.integers(1, 5))
        elif change == 5:
            width = one_of((1, 2, 4, 8), rng)
            number = one_of(NUMBERS, rng) % 256**width
            data[place : place + width] = number.to_bytes(width, one_of(("little", "big"), rng))
        elif change == 6:
            found = [match.span() for match in re.finditer(rb"-?[0-9]+", bytes(data))]
            if found:
                start, stop = one_of(found, rng)
                data[start:stop] = str(one_of(NUMBERS, rng)).encode()
        elif change == 7 and others:
            other = one_of(others, rng)
            start = int(rng.integers(len(other) + 1))
            data[place : place + length] = other[start : start + length]
        elif change == 8 and rng.random() < 0.3:
            del data[place:]
    return bytes(data)


def mutate_json(value, rng: np.random.Generator):
    """Return a JSON value with one part replaced, dropped, doubled or moved."""
    paths = list(_paths(value))
    path = one_of(paths, rng)
    if not path:
        return _other_value(value, rng)
    copy = _copied(value)
    parent = copy
    for key in path[:-1]:
        parent = parent[key]
    key, change = path[-1], int(rng.integers(8))
    if change <= 3:
        parent[key] = _other_value(parent[key], rng)
    elif change == 4:
        del parent[key]
    elif change == 5:
        parent[key] = _copied(_at(value, one_of(paths, rng)))
    elif change == 6 and isinstance(parent, list):
        parent.extend(_copied(parent) * int(rng.integers(1, 4)))
    elif isinstance(parent, dict):
        name = one_of(sorted(parent), rng)
        parent[name] = parent.pop(key)
    return copy


def _paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from _paths(part, (*path, key))


def _at(value, path):
    for key in path:
        value = value[key]
    return value


def _copied(value):
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value


def _other_value(value, rng):
    if isinstance(value, bool):
        return not value
    choices = [None, True, "", "x", [], {}, one_of(NUMBERS, rng), one_of(FLOATS[:6], rng), [value], {"type": value}]
    if isinstance(value, (int, float)):
        choices = [one_of(NUMBERS, rng), one_of(NUMBERS, rng), value + 1, value - 1, -value, float(value), *choices]
    if isinstance(value, str):
        choices = [value + "x", value[:-1], value.upper(), re.sub("[0-9]+", str(one_of(NUMBERS, rng)), value), *choices]
    if isinstance(value, list):
        choices = [value * 2, value[:-1], value[::-1], [one_of(NUMBERS, rng)] * len(value), *choices]
    return one_of(choices, rng)


def mutate_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an array with other values, another shape or another type."""
    array = array.copy()
    change = int(rng.integers(9))
    if change <= 3 and array.size:
        flat = array.reshape(-1)
        places = rng.integers(flat.size, size=int(rng.integers(1, 4)))
        pool = FLOATS if array.dtype.kind in "fc" else NUMBERS
        for place in places:
            with np.errstate(all="ignore"):
                number = one_of(pool, rng)
                if array.dtype.kind in "iu":
                    number = number % 2 ** (8 * array.dtype.itemsize)
                    flat[place] = np.array(number, np.uint64).astype(array.dtype)
                elif array.dtype.kind in "fc":
                    flat[place] = number
                else:
                    flat[place] = flat[int(rng.integers(flat.size))]
        return array
    if change == 4:
        return np.concatenate([array.reshape(-1)] * int(rng.integers(1, 4)))
    if change == 5:
        return array.reshape(-1)[: int(rng.integers(array.size + 1))]
    if change == 6:
        return array.reshape(one_of([(-1, 1), (1, -1), array.shape[::-1]], rng)) if array.size else array
    if change == 7 and array.dtype.kind in "iufb":
        return array.astype(one_of(["<f4", ">f8", "<i2", ">i4", "<i8", "<u8", "?", "<f2", "<c8", "<U3"], rng))
    return rng.permutation(array.reshape(-1)).reshape(array.shape)
