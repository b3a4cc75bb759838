"""Compiled reading of decimal numbers: the double that Python's ``float()`` gives, without a Python call per number.

Short plain decimals are a whole number divided by a power of ten, both exact in float64, so the quotient is correctly
rounded. Everything else goes through the multiplication by a 128-bit power of five of [lemire2021]_; the few numbers
which that leaves undecided are reported as ``HARD`` and read by Python.

Positions are uint64: with signed ones numba adds a negative-index check to every byte access.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint8, uint64

FINITE, NULL, WORD, HARD, BAD = 0, 1, 2, 3, 4  # kinds of number; WORD is inf or nan

TAB, NEWLINE, RETURN, BLANK, HASH, PLUS, MINUS, DOT, COLON = 9, 10, 13, 32, 35, 43, 45, 46, 58
ZERO, ONE, TEN = np.uint64(0), np.uint64(1), np.uint64(10)
MOST_DIGITS = np.uint64(19)  # 19 digits always fit into 64 bits
EXACT = np.uint64(1 << 53)  # whole numbers up to here are exact in float64
_LOW32, _32, _63, _64 = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(63), np.uint64(64)
_ALL_ONES, _TOP = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(1 << 63)
_DROPPED_MASK = np.uint64(0x1FF)  # the 64 - 55 bits that rounding does not look at
_HIDDEN = np.uint64(1 << 52)
_9, _2, _3 = np.uint64(9), np.uint64(2), np.uint64(3)
POWERS_OF_TEN = 10.0 ** np.arange(23)
_SMALLEST_POWER, _LARGEST_POWER = -342, 308


def _powers_of_five() -> np.ndarray:
    """The leading 128 bits of each power of five, as two 64-bit halves; rounded up below 5**0, down above."""
    table = np.empty((_LARGEST_POWER - _SMALLEST_POWER + 1, 2), dtype=np.uint64)
    for power in range(_SMALLEST_POWER, _LARGEST_POWER + 1):
        if power < 0:
            five = 5**-power
            bits = five.bit_length() if five & (five - 1) else five.bit_length() - 1
            shift = bits + 127 if power >= -27 else 2 * bits + 128
            leading = (1 << shift) // five + 1
            leading >>= max(leading.bit_length() - 128, 0)
        else:
            five = 5**power
            surplus = five.bit_length() - 128
            leading = five >> surplus if surplus > 0 else five << -surplus
        table[power - _SMALLEST_POWER] = leading >> 64, leading & 0xFFFFFFFFFFFFFFFF
    return table


POWERS_OF_FIVE = _powers_of_five()


@njit(cache=True, nogil=True)
def _multiply(a, b):
    """The high and the low half of the 128-bit product."""
    a_low, a_high, b_low, b_high = a & _LOW32, a >> _32, b & _LOW32, b >> _32
    low = a_low * b_low
    middle = a_high * b_low + (low >> _32)
    other = a_low * b_high + (middle & _LOW32)
    return a_high * b_high + (middle >> _32) + (other >> _32), (other << _32) | (low & _LOW32)


@njit(cache=True, nogil=True)
def _scale(digits, power):
    """``digits * 10**power`` correctly rounded, and whether that could be decided (normal numbers only)."""
    if digits == ZERO:
        return 0.0, True
    if power < _SMALLEST_POWER or power > _LARGEST_POWER:
        return 0.0, False
    lead = 0
    while digits < _TOP:
        digits <<= ONE
        lead += 1
    row = uint64(power - _SMALLEST_POWER)
    high, low = _multiply(digits, POWERS_OF_FIVE[row, ZERO])
    if high & _DROPPED_MASK == _DROPPED_MASK:
        more, _ = _multiply(digits, POWERS_OF_FIVE[row, ONE])
        low += more
        if more > low:
            high += ONE
    if low == _ALL_ONES and (power < -27 or power > 55):
        return 0.0, False
    upper = high >> _63
    mantissa = high >> (upper + _9)
    exponent = ((217706 * power) >> 16) + 63 + (1 if upper else 0) - lead + 1023
    if exponent <= 0:
        return 0.0, False
    if low <= ONE and power >= -4 and power <= 23 and mantissa & _3 == ONE and mantissa << (upper + _9) == high:
        mantissa -= ONE  # exactly between two doubles: to the even one
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    if mantissa >= _HIDDEN << ONE:
        mantissa = _HIDDEN
        exponent += 1
    if exponent >= 2047:
        return 0.0, False
    return math.ldexp(float(np.int64(mantissa)), exponent - 1075), True


@njit(cache=True, nogil=True)
def _lower(byte):
    return byte | uint8(32)


@njit(cache=True, nogil=True)
def _ends(text, place):
    return text[place] <= BLANK or text[place] == HASH


@njit(cache=True, nogil=True)
def _word(text, start, place):
    """``NULL``, or inf, infinity and nan in any case, with ``place`` behind a sign that began at ``start``."""
    c = text[place]
    if c == 78 and text[place + ONE] == 85 and text[place + _2] == 76 and text[place + _3] == 76:  # NULL
        if start == place and _ends(text, place + np.uint64(4)):
            return place + np.uint64(4), np.nan, NULL
        return place, 0.0, BAD
    value = np.nan
    if _lower(c) == 110 and _lower(text[place + ONE]) == 97 and _lower(text[place + _2]) == 110:  # nan
        place += _3
    elif _lower(c) == 105 and _lower(text[place + ONE]) == 110 and _lower(text[place + _2]) == 102:  # inf
        value = -np.inf if text[start] == MINUS else np.inf
        place += _3
        rest = (105, 110, 105, 116, 121)  # inity
        k = 0
        while k < 5 and _lower(text[place + uint64(k)]) == rest[k]:
            k += 1
        if k == 5:
            place += np.uint64(5)
    else:
        return place, 0.0, BAD
    return place, value, WORD if _ends(text, place) else BAD


@njit(cache=True, nogil=True)
def _exponent(text, place):
    """The signed number behind an ``e``, held within what a double can tell apart; 0 digits are an error."""
    negative = text[place] == MINUS
    if negative or text[place] == PLUS:
        place += ONE
    exponent = 0
    is_good = uint8(text[place] - 48) < 10
    while uint8(text[place] - 48) < 10:
        if exponent < 100_000_000:
            exponent = 10 * exponent + int(text[place] - 48)
        place += ONE
    return place, -exponent if negative else exponent, is_good


@njit(cache=True, nogil=True)
def number(text, place):
    """The number at ``place`` in any of its forms: the place behind it, its value and its kind.

    The text must end in a newline, which stops every loop.
    """
    start = place
    if text[place] == MINUS or text[place] == PLUS:
        place += ONE
    if uint8(text[place] - 48) >= 10 and text[place] != DOT:
        return _word(text, start, place)
    digits, n_digits, n_dropped, n_seen, power = ZERO, ZERO, 0, 0, 0
    is_fraction = False
    while True:
        c = text[place]
        digit = uint8(c - 48)
        if digit < 10:
            n_seen += 1
            if n_digits < MOST_DIGITS:
                digits = digits * TEN + uint64(digit)
                if digits > ZERO:
                    n_digits += ONE
                if is_fraction:
                    power -= 1
            else:
                n_dropped += 1
                if not is_fraction:
                    power += 1
        elif c == DOT and not is_fraction:
            is_fraction = True
        else:
            break
        place += ONE
    if n_seen == 0:
        return place, 0.0, BAD
    if _lower(c) == 101:  # e
        place, exponent, is_good = _exponent(text, place + ONE)
        if not is_good:
            return place, 0.0, BAD
        power += exponent
    if not _ends(text, place):
        return place, 0.0, BAD
    value, is_decided = _scale(digits, power)
    if n_dropped > 0:
        # the digits left out lie between these two; where both round alike, so does the number itself
        above, is_above_decided = _scale(digits + ONE, power)
        is_decided = is_decided and is_above_decided and above == value
    if not is_decided:
        return place, 0.0, HARD
    return place, -value if text[start] == MINUS else value, FINITE
