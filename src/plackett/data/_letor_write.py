"""Compiled writing of LETOR text: short decimals first, then whole lines."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint64

from plackett.data._letor_numbers import BLANK, COLON, DOT, HASH, MINUS, NEWLINE, POWERS_OF_TEN

AS_TEXT, AS_NULL = -1, -2  # in ``places``: the number stands among the texts; it is NaN
_EXACT = 2.0**53


@njit(cache=True, nogil=True, error_model="numpy")
def decimals(numbers, digits, places):
    """Each number as ``digits / 10**places`` with the fewest places that give it back, as the reader computes it.

    Where 53 bits of digits or 22 places are not enough, ``places`` is AS_TEXT; how many there are is returned.
    """
    n_texts = 0
    for k in range(numbers.size):
        number = numbers[k]
        places[k] = AS_TEXT
        if math.isnan(number):
            places[k] = AS_NULL
            continue
        size = abs(float(number))
        for place in range(POWERS_OF_TEN.size):
            shifted = size * POWERS_OF_TEN[place]
            if not shifted < _EXACT:
                break
            whole = math.floor(shifted + 0.5)
            numbers[k] = whole / POWERS_OF_TEN[place]  # rounded as an array of this type rounds
            if numbers[k] == abs(number):
                digits[k], places[k] = np.int64(whole), place
                break
        numbers[k] = number
        n_texts += places[k] == AS_TEXT
    return n_texts


@njit(cache=True, nogil=True)
def _put_digits(out, at, digits, n_least):
    """Write a whole number with at least that many digits."""
    n, rest = 1, digits
    while rest >= 10:
        rest //= 10
        n += 1
    n = max(n, n_least)
    for k in range(n):
        out[uint64(at + n - 1 - k)] = 48 + digits % 10
        digits //= 10
    return at + n


@njit(cache=True, nogil=True)
def _put_text(out, at, buffer, start, stop):
    out[at : at + stop - start] = buffer[start:stop]
    return at + stop - start


@njit(cache=True, nogil=True)
def _put_number(out, at, number, digits, places):
    if math.copysign(1.0, number) < 0:
        out[at] = MINUS
        at += 1
    if places == 0:
        return _put_digits(out, at, digits, 1)
    end = _put_digits(out, at, digits, places + 1)
    for k in range(places):
        out[uint64(end - k)] = out[uint64(end - k - 1)]
    out[end - places] = DOT
    return end + 1


@njit(cache=True, nogil=True)
def write_lines(
    numbers, digits, places, texts, text_bounds, pair_ptr, index, query, ids, id_bounds, notes, note_bounds, out
):
    """Write rows; the numbers of a row are its label and then its values. The bytes written are returned.

    ``pair_ptr`` bounds the pairs of each row, ``query`` says whose id it has; empty ``note_bounds``: no comments.
    """
    at, number, text = 0, 0, 0
    for row in range(query.size):
        for pair in range(pair_ptr[row] - 1, pair_ptr[row + 1]):
            if pair >= pair_ptr[row]:
                out[at] = BLANK
                at = _put_digits(out, at + 1, index[pair], 1)
                out[at] = COLON
                at += 1
            if places[number] >= 0:
                at = _put_number(out, at, numbers[number], digits[number], places[number])
            else:
                at = _put_text(out, at, texts, text_bounds[text], text_bounds[text + 1])
                text += 1
            number += 1
            if pair < pair_ptr[row]:
                for c in (32, 113, 105, 100, 58):  # " qid:"
                    out[at] = c
                    at += 1
                at = _put_text(out, at, ids, id_bounds[query[row]], id_bounds[query[row] + 1])
        if note_bounds.size and note_bounds[row + 1] > note_bounds[row]:
            out[at], out[at + 1] = BLANK, HASH
            at = _put_text(out, at + 2, notes, note_bounds[row], note_bounds[row + 1])
        out[at] = NEWLINE
        at += 1
    return at
