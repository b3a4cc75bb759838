// Rows of parsed LETOR text: count lines, lay out pairs as rows, find runs of equal query ids.
#pragma once
#include "core/arrays.hpp"

namespace plackett::letor {

// Count the newlines of a text at memory bandwidth, without the GIL (bytearray.count takes ten times as long).
inline Index count_lines(View<const std::uint8_t> text) {
    constexpr Index BLOCK = 255;  // counts up to here fit into a byte, so that the loop uses full vectors of bytes
    Index n_lines = 0, start = 0;
    for (; start + BLOCK <= text.size; start += BLOCK) {
        std::uint8_t n = 0;
        const auto block = text.slice(start, start + BLOCK);
#pragma omp simd reduction(+ : n)
        for (Index k = 0; k < BLOCK; ++k) n = static_cast<std::uint8_t>(n + (block[k] == '\n'));
        n_lines += n;
    }
    for (; start < text.size; ++start) n_lines += text[start] == '\n';
    return n_lines;
}

// Sort the pairs of one row by index (Shell sort: unsorted rows are rare and mostly nearly sorted).
template <class Real>
void sort_pairs(View<std::int32_t> index, View<Real> value) {
    Index gap = 1;
    while (gap < index.size / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (Index i = gap; i < index.size; ++i) {
            const std::int32_t key = index[i];
            const Real x = value[i];
            Index j = i;
            for (; j >= gap && index[j - gap] > key; j -= gap) {
                index[j] = index[j - gap];
                value[j] = value[j - gap];
            }
            index[j] = key;
            value[j] = x;
        }
}

// Write the sorted pairs of a row into a row of X.
template <class Real>
void fill_row(View<Real> cells, View<const std::int32_t> index, View<const Real> value, Real missing) {
    if (index.size == cells.size) {  // the most common row: every column once
        std::copy(value.begin(), value.end(), cells.begin());
        return;
    }
    cells.fill(missing);
    for (Index k = 0; k < index.size; ++k) cells[index[k]] = value[k];
}

// Write the pairs of rows into rows of X.
template <class Real>
void scatter(View<const Index> row_end, View<const std::int32_t> index, View<const Real> value, Rows<Real> X,
             double missing) {
    Index start = 0;
    for (Index row = 0; row < row_end.size; ++row) {
        fill_row(X[row], index.slice(start, row_end[row]), value.slice(start, row_end[row]), static_cast<Real>(missing));
        start = row_end[row];
    }
}

// Remove stored zeros in place. Return the number of pairs that remain.
template <class Real>
Index drop_zeros(View<Index> row_end, View<std::int32_t> index, View<Real> value) {
    Index kept = 0, start = 0;
    for (Index row = 0; row < row_end.size; ++row) {
        const Index stop = row_end[row];
        for (Index k = start; k < stop; ++k) {
            index[kept] = index[k];
            value[kept] = value[k];
            kept += value[k] != 0;
        }
        start = stop;
        row_end[row] = kept;
    }
    return kept;
}

// Change the width of rows in place, from old_width to new_width cells.
template <class Real>
void change_width(View<Real> cells, Index n_rows, Index old_width, Index new_width, double missing) {
    const Index common = std::min(old_width, new_width);
    const auto move_row = [&](Index row) {
        const auto from = cells.slice(row * old_width, row * old_width + common);
        const auto to = cells.slice(row * new_width, (row + 1) * new_width);
        if (to.data > from.data)
            std::copy_backward(from.begin(), from.end(), to.begin() + common);
        else
            std::copy(from.begin(), from.end(), to.begin());
        std::fill(to.begin() + common, to.end(), static_cast<Real>(missing));
    };
    if (new_width > old_width)  // from the last row on, so that no row is overwritten before it is moved
        for (Index row = n_rows - 1; row >= 0; --row) move_row(row);
    else
        for (Index row = 0; row < n_rows; ++row) move_row(row);
}

// Write the rows whose query id differs from that of the row before to `starts`. Return their number. An id is a number if
// the end of its span is 0, otherwise the bytes of its span.
inline Index id_runs(View<const std::uint8_t> text, View<const Index> qid, Rows<const Index> qid_span,
                     View<Index> starts) {
    const auto is_number = [&](Index row) { return qid_span(row, 1) == 0; };
    const auto id_of = [&](Index row) { return text.slice(qid_span(row, 0), qid_span(row, 1)); };
    const auto are_equal = [&](Index a, Index b) {
        if (is_number(a) || is_number(b)) return is_number(a) && is_number(b) && qid[a] == qid[b];
        const auto one = id_of(a), other = id_of(b);
        return std::equal(one.begin(), one.end(), other.begin(), other.end());
    };
    Index n = 0;
    for (Index row = 0; row < qid.size; ++row)
        if (row == 0 || !are_equal(row - 1, row)) starts[n++] = row;
    return n;
}

}  // namespace plackett::letor
