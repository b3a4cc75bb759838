"""Compiled reading of LETOR text: one pass over the bytes of a chunk, one core, no Python objects.

A chunk holds whole lines and ends in a newline, which stops every inner loop. The pairs of a row are gathered first and
put in their place when the row is complete: into a row of X, or behind the pairs of the rows before.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint8, uint64

from plackett.data._letor_numbers import (
    BLANK,
    COLON,
    DOT,
    EXACT,
    FINITE,
    HARD,
    HASH,
    MINUS,
    MOST_DIGITS,
    NEWLINE,
    NULL,
    ONE,
    PLUS,
    POWERS_OF_TEN,
    RETURN,
    TAB,
    TEN,
    WORD,
    ZERO,
    number,
)

# What can be wrong with a line.
FINE, NO_LABEL, LABEL_NOT_FINITE, NO_QID, BAD_PAIR, INDEX_TOO_SMALL, INDEX_TOO_LARGE, TWICE, OVERFLOW = range(9)
# Places in ``report``: what a call to ``parse`` found.
ROWS, PAIRS, LARGEST, N_HARD, COMMENT_BYTES, TEXT_IDS, CODE, PLACE, DETAIL = range(9)
MOST_COLUMNS = 2**31 - 2

_FOUR, _18, _19 = np.uint64(4), np.uint64(18), np.uint64(19)
_MOST_POSITIVE, _MOST_NEGATIVE = np.uint64(2**63 - 1), np.uint64(2**63)
_LABEL = np.int64(-1)  # stands for the column in ``hard``


@njit(cache=True, nogil=True)
def count_lines(text):
    """Newlines in a text, at the speed of memory and without the GIL (``bytearray.count`` takes ten times as long)."""
    n_lines = 0
    n_blocks = text.size // 255
    for block in range(n_blocks):
        n = uint8(0)  # no more than 255, so that the loop runs on whole vectors of bytes
        for k in range(255 * block, 255 * (block + 1)):
            n = uint8(n + uint8(text[uint64(k)] == NEWLINE))
        n_lines += int(n)
    for k in range(255 * n_blocks, text.size):
        n_lines += text[uint64(k)] == NEWLINE
    return n_lines


@njit(cache=True, nogil=True)
def _is_line_end(text, place):
    c = text[place]
    return c == NEWLINE or (c == RETURN and text[place + ONE] == NEWLINE)


@njit(cache=True, nogil=True)
def _skip_blanks(text, place):
    while text[place] == BLANK or text[place] == TAB:
        place += ONE
    return place


@njit(cache=True, nogil=True)
def _query_id(text, place):
    """The end of the id, its number, and whether that number says it all (no leading zero, no plus, within int64)."""
    start = place
    is_negative = text[place] == MINUS
    if is_negative:
        place += ONE
    first = place
    digits = ZERO
    while uint8(text[place] - 48) < 10:
        digits = digits * TEN + uint64(uint8(text[place] - 48))
        place += ONE
    n_digits = place - first
    is_number = n_digits > ZERO and (text[place] <= BLANK or text[place] == HASH)
    if is_number and (text[first] == 48 and (n_digits > ONE or is_negative)):
        is_number = False
    if is_number and n_digits > _18:
        is_number = n_digits == _19 and digits <= (_MOST_NEGATIVE if is_negative else _MOST_POSITIVE)
    while text[place] > BLANK and text[place] != HASH:
        place += ONE
    value = np.int64(digits)
    return place, -value if is_negative else value, is_number, place > start


@njit(cache=True, nogil=True)
def _sort_pairs(index, value, start, stop):
    """Sort the pairs of one row by index (shell sort: rows out of order are rare and mostly nearly sorted)."""
    gap = 1
    while gap < (stop - start) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, stop):
            key, number_ = index[i], value[i]
            j = i
            while j >= start + gap and index[j - gap] > key:
                index[j], value[j] = index[j - gap], value[j - gap]
                j -= gap
            index[j], value[j] = key, number_
        gap //= 3


@njit(cache=True, nogil=True)
def _unusual_value(text, start, row, column, hard, null, overflow, report):
    """Any value that is not a short plain decimal: the place behind it and the number; what is wrong goes to report."""
    place, value, kind = number(text, start)
    if kind == NULL:
        return place, null
    if kind == HARD:
        spot = report[N_HARD]
        hard[spot, 0], hard[spot, 1], hard[spot, 2], hard[spot, 3] = row, column, start, place
        report[N_HARD] += 1
    elif kind == FINITE and abs(value) >= overflow:
        report[CODE], report[PLACE] = OVERFLOW, start
    elif kind != FINITE and kind != WORD:
        report[CODE] = BAD_PAIR
    return place, value


@njit(cache=True, nogil=True, error_model="numpy")
def _pairs(text, place, row, pair, index, value, hard, first_index, end_index, null, overflow, report):
    """Read ``index:value`` until the line or its data ends: the place, and the next pair.

    All of the time goes here, so the usual number is read on the spot: a single digit, or digits over a power of ten,
    both exact in float64 and the quotient therefore correctly rounded. (A call per number, or whatever looks eight
    bytes ahead, was tried and is slower.)
    """
    while True:
        c = text[place]
        while c == BLANK or c == TAB:  # noqa: SIM109  (a tuple is slower)
            place += ONE
            c = text[place]
        start = place
        key = ZERO
        digit = uint8(c - 48)
        while digit < 10:
            key = key * TEN + uint64(digit)
            place += ONE
            digit = uint8(text[place] - 48)
        n_digits = place - start
        column = np.int64(key) - first_index
        if n_digits - ONE >= TEN or text[place] != COLON or uint64(column) >= uint64(end_index):  # 0 - 1 wraps around
            _end_of_pairs(text, start, place, column, report)
            return place, pair
        place += ONE
        begin = place
        c = text[place]
        digit = uint8(c - 48)
        if digit < 10 and text[place + ONE] == BLANK:
            x = float(digit)
            place += ONE
        else:
            c = text[place]
            is_negative = c == MINUS
            if is_negative or c == PLUS:
                place += ONE
            digits = ZERO
            first = place
            digit = uint8(text[place] - 48)
            while digit < 10:
                digits = digits * TEN + uint64(digit)
                place += ONE
                digit = uint8(text[place] - 48)
            n_digits = place - first
            x = float(np.int64(digits))
            if text[place] == DOT:
                place += ONE
                first = place
                digit = uint8(text[place] - 48)
                while digit < 10:
                    digits = digits * TEN + uint64(digit)
                    place += ONE
                    digit = uint8(text[place] - 48)
                decimals = place - first
                n_digits += decimals
                x = float(np.int64(digits)) / POWERS_OF_TEN[min(decimals, MOST_DIGITS)]
            c = text[place]
            if (c <= BLANK or c == HASH) and n_digits - ONE < MOST_DIGITS and digits <= EXACT:
                x = -x if is_negative else x
            else:
                place, x = _unusual_value(text, begin, row, column, hard, null, overflow, report)
                if report[CODE] != FINE:
                    report[PLACE] = start if report[CODE] == BAD_PAIR else begin
                    return place, pair
        index[pair], value[pair] = column, x
        pair += ONE


@njit(cache=True, nogil=True)
def _end_of_pairs(text, start, place, column, report):
    """What stands where a pair could not be read: the end of the data, or something wrong."""
    if place == start:
        if not (text[start] == HASH or _is_line_end(text, start)):
            report[CODE], report[PLACE] = BAD_PAIR, start
    elif text[place] != COLON:
        report[CODE], report[PLACE] = BAD_PAIR, start
    elif place - start <= TEN and column < 0:
        report[CODE], report[PLACE] = INDEX_TOO_SMALL, start
    else:
        report[CODE], report[PLACE] = INDEX_TOO_LARGE, start


@njit(cache=True, nogil=True)
def _settle_row(index, value, start, stop, report):
    """Put the pairs of a row in order; an index that stands twice is reported. The largest index counts, too."""
    is_rising = True
    for k in range(start + ONE, stop):
        is_rising &= index[uint64(k)] > index[uint64(k) - ONE]
    if not is_rising:
        _sort_pairs(index, value, np.int64(start), np.int64(stop))
        k = start + ONE
        while k < stop:
            if index[k] == index[k - ONE]:
                report[CODE], report[DETAIL] = TWICE, index[k]
                return
            k += ONE
    if stop > start and index[stop - ONE] > report[LARGEST]:
        report[LARGEST] = index[stop - ONE]


@njit(cache=True, nogil=True)
def _fill_row(cells, index, value, n_pairs, missing):
    n = uint64(cells.size)
    if n_pairs == n:  # every column once and in order: the usual row
        for k in range(n):
            cells[uint64(k)] = value[uint64(k)]
        return
    for k in range(n):
        cells[uint64(k)] = missing
    for k in range(n_pairs):
        cells[uint64(index[uint64(k)])] = value[uint64(k)]


@njit(cache=True, nogil=True)
def _head(text, place, row, labels, qid, qid_span, hard, report):
    """Read ``label qid:ID``: the place behind it."""
    start = place
    place, label, kind = number(text, place)
    if kind == HARD:
        spot = report[N_HARD]
        hard[spot, 0], hard[spot, 1], hard[spot, 2], hard[spot, 3] = row, _LABEL, start, place
        report[N_HARD] += 1
    elif kind in (WORD, NULL):
        report[CODE], report[PLACE] = LABEL_NOT_FINITE, start
        return place
    elif kind != FINITE:
        report[CODE], report[PLACE] = NO_LABEL, start
        return place
    labels[row] = label
    place = _skip_blanks(text, place)
    q = place
    if not (text[q] == 113 and text[q + ONE] == 105 and text[q + ONE + ONE] == 100 and text[q + _FOUR - ONE] == COLON):
        report[CODE], report[PLACE] = NO_QID, start
        return place
    place, value, is_number, is_some = _query_id(text, q + _FOUR)
    if not is_some:
        report[CODE], report[PLACE] = NO_QID, start
        return place
    qid[row] = value
    qid_span[row, ZERO] = q + _FOUR
    qid_span[row, ONE] = ZERO if is_number else place  # the end 0 says that the number is all there is
    if not is_number:
        report[TEXT_IDS] += 1
    return place


@njit(cache=True, nogil=True)
def _newline(text, place):
    """The place of the next newline."""
    while text[place] != NEWLINE:
        place += ONE
    return place


@njit(cache=True, nogil=True)
def _keep_comment(text, start, end, comments, used):
    """Copy the bytes up to a newline, less a carriage return before it: how many are used now."""
    if end > start and text[end - ONE] == RETURN:
        end -= ONE
    for k in range(start, end):  # a slice would do, but takes three seconds to compile
        comments[used + uint64(k) - start] = text[uint64(k)]
    return used + end - start


@njit(cache=True, nogil=True)
def parse(text, X, labels, qid, qid_span, index, value, row_end, comments, comment_end, hard, limits, fills, report):
    """Read every line of ``text``; stop at the first that is wrong and say in ``report`` what and where.

    ``limits``: first index, number of columns allowed, whether to fill X, whether to keep comments. ``fills``: what
    stands for absent indices and for NULL, and the smallest number that is too large. ``report`` comes as zeros; the
    other arrays have room for a row per newline.
    """
    first_index, end_index, is_dense, is_kept = limits[0], limits[1], limits[2] == 1, limits[3] == 1
    missing, null, overflow = fills[0], fills[1], fills[2]
    place, row, pair, used = ZERO, ZERO, ZERO, ZERO
    end = uint64(text.size)
    report[LARGEST] = -1
    while place < end:
        place = _skip_blanks(text, place)
        if _is_line_end(text, place):
            place += ONE if text[place] == NEWLINE else ONE + ONE
            continue
        if text[place] == HASH:
            place = _newline(text, place) + ONE
            continue
        line = place
        place = _head(text, place, row, labels, qid, qid_span, hard, report)
        if report[CODE] != FINE:
            break
        start = pair
        place, pair = _pairs(text, place, row, pair, index, value, hard, first_index, end_index, null, overflow, report)
        if report[CODE] == FINE:
            _settle_row(index, value, start, pair, report)
            if report[CODE] == TWICE:
                report[PLACE] = line
        if report[CODE] != FINE:
            break
        report[PAIRS] += np.int64(pair - start)
        if is_dense:
            _fill_row(X[row], index, value, pair, missing)
            pair = ZERO
        else:
            row_end[row] = pair
        if text[place] == HASH:
            start = place + ONE
            place = _newline(text, start)
            if is_kept:
                used = _keep_comment(text, start, place, comments, used)
        comment_end[row] = used
        row += ONE
        place += ONE if text[place] == NEWLINE else ONE + ONE
    report[ROWS], report[COMMENT_BYTES] = row, used


@njit(cache=True, nogil=True)
def scatter(row_end, index, value, X, missing):
    """Put the pairs of rows into rows of X."""
    start = 0
    for row in range(row_end.size):
        stop = row_end[row]
        _fill_row(X[row], index[start:stop], value[start:stop], uint64(stop - start), missing)
        start = stop


@njit(cache=True, nogil=True)
def drop_zeros(row_end, index, value):
    """Close the gaps that stored zeros leave, in place; the number of pairs that stay."""
    kept, start = 0, 0
    for row in range(row_end.size):
        stop = row_end[row]
        for k in range(start, stop):
            if value[k] != 0:
                index[kept], value[kept] = index[k], value[k]
                kept += 1
        start = stop
        row_end[row] = kept
    return kept


@njit(cache=True, nogil=True)
def change_width(cells, n_rows, old, new, missing):
    """Lay out rows of ``old`` cells as rows of ``new`` in the same buffer."""
    if new > old:
        for back in range(n_rows):
            row = n_rows - 1 - back
            for k in range(new - 1, -1, -1):
                cells[row * new + k] = cells[row * old + k] if k < old else missing
    else:
        for row in range(n_rows):
            for k in range(new):
                cells[row * new + k] = cells[row * old + k]


@njit(cache=True, nogil=True)
def id_runs(text, qid, qid_span, starts):
    """Rows whose query id differs from the row before, written to ``starts``; how many there are."""
    n = 0
    for row in range(qid.size):
        is_new = row == 0 or (qid_span[row, 1] == 0) != (qid_span[row - 1, 1] == 0)
        if not is_new and qid_span[row, 1] == 0:
            is_new = qid[row] != qid[row - 1]
        elif not is_new:
            a, b = qid_span[row - 1, 0], qid_span[row, 0]
            length = qid_span[row, 1] - b
            is_new = qid_span[row - 1, 1] - a != length
            k = ZERO
            while not is_new and k < length:
                is_new = text[a + k] != text[b + k]
                k += ONE
        if is_new:
            starts[n] = row
            n += 1
    return n
