// Parser of LETOR text: one pass over the bytes of a chunk, on one core.
//
// A chunk has whole lines and ends in a newline, which terminates every inner loop, so that nothing after it is read. The
// pairs of a row are collected first. When the row is complete they are written into a row of X, or appended to the pairs
// of the rows before.
#pragma once
#include <cmath>
#include <cstring>

#include "data/decimals.hpp"
#include "data/letor_rows.hpp"

namespace plackett::letor {

// Kinds of errors in a line, and the indices of a report; letor_parse.py has the same names.
enum Problem : Index {
    FINE, NO_LABEL, LABEL_NOT_FINITE, NO_QID, BAD_PAIR, INDEX_TOO_SMALL, INDEX_TOO_LARGE, TWICE, TOO_LARGE_A_VALUE
};
enum ReportPlace : Index { ROWS, PAIRS, LARGEST, N_HARD, COMMENT_BYTES, TEXT_IDS, PROBLEM, PLACE, DETAIL };

template <class Real>
struct LetorParser {
    Text text;
    Rows<Real> X;
    View<double> labels;
    View<Index> qid;
    Rows<Index> qid_span;
    View<std::int32_t> index;
    View<Real> value;
    View<Index> row_end;
    View<std::uint8_t> comments;
    View<Index> comment_end;
    Rows<Index> hard;
    Index first_index, end_index;
    bool is_dense, is_kept;
    double missing, null, overflow;
    View<Index> report;
    Index row = 0;

    void parse() {
        Index place = 0, pair = 0, used = 0;
        report.fill(0);
        report[LARGEST] = -1;
        while (place < text.size) {
            place = skip_blanks(place);
            if (is_line_end(place)) {
                place += text[place] == '\n' ? 1 : 2;
                continue;
            }
            if (text[place] == '#') {
                place = newline(place) + 1;
                continue;
            }
            const Index line = place, start = is_dense ? 0 : pair;
            place = head(place);
            if (report[PROBLEM] == FINE) {
                pair = start;
                place = pairs(place, pair);
            }
            if (report[PROBLEM] == FINE) settle_row(start, pair, line);
            if (report[PROBLEM] != FINE) break;
            report[PAIRS] += pair - start;
            if (is_dense)
                fill_row(X[row], View<const std::int32_t>(index).slice(0, pair), View<const Real>(value).slice(0, pair),
                         static_cast<Real>(missing));
            else
                row_end[row] = pair;
            if (text[place] == '#') {
                const Index begin = place + 1;
                place = newline(begin);
                if (is_kept) used = keep_comment(begin, place, used);
            }
            comment_end[row] = used;
            ++row;
            place += text[place] == '\n' ? 1 : 2;
        }
        report[ROWS] = row;
        report[COMMENT_BYTES] = used;
    }

    Index skip_blanks(Index place) const {
        while (text[place] == ' ' || text[place] == '\t') ++place;
        return place;
    }

    bool is_line_end(Index place) const {
        return text[place] == '\n' || (text[place] == '\r' && text[place + 1] == '\n');
    }

    Index newline(Index place) const {
        const Text rest = text.slice(place, text.size);
        return static_cast<const std::uint8_t*>(std::memchr(rest.data, '\n', static_cast<std::size_t>(rest.size))) -
               text.data;
    }

    // Copy the bytes up to a newline, without a carriage return before it. Return the number of bytes used.
    Index keep_comment(Index begin, Index end, Index used) const {
        if (end > begin && text[end - 1] == '\r') --end;
        const Text found = text.slice(begin, end);
        std::copy(found.begin(), found.end(), comments.slice(used, used + found.size).begin());
        return used + found.size;
    }

    void fail(Problem problem, Index place) const {
        report[PROBLEM] = problem;
        report[PLACE] = place;
    }

    void leave_to_python(Index column, Index start, Index stop) const {
        const View<Index> spot = hard[report[N_HARD]++];
        spot[0] = row, spot[1] = column, spot[2] = start, spot[3] = stop;
    }

    // Parse label qid:ID. Return the position after it.
    Index head(Index place) const {
        const Index start = place;
        const Number label = number(text, place);
        place = label.place;
        if (label.kind == Kind::hard) {
            constexpr Index LABEL = -1;  // in place of a column
            leave_to_python(LABEL, start, place);
        } else if (label.kind != Kind::finite) {
            fail(label.kind == Kind::bad ? NO_LABEL : LABEL_NOT_FINITE, start);
            return place;
        }
        labels[row] = label.value;
        place = skip_blanks(place);
        if (!(text[place] == 'q' && text[place + 1] == 'i' && text[place + 2] == 'd' && text[place + 3] == ':')) {
            fail(NO_QID, start);
            return place;
        }
        const Index begin = place + 4;
        place = query_id(begin);
        if (place == begin) fail(NO_QID, start);
        return place;
    }

    // Parse a query id: its number, and whether the number is the whole id (no leading zero, no plus sign, within
    // int64). Return the position after it.
    Index query_id(const Index begin) const {
        const bool is_negative = text[begin] == '-';
        const Index first = begin + is_negative;
        Index place = first;
        std::uint64_t digits = 0;
        for (; digit_of(text[place]) < 10; ++place) digits = digits * 10 + digit_of(text[place]);
        const Index n_digits = place - first;
        bool is_number = n_digits > 0 && is_end(text[place]) && !(text[first] == '0' && (n_digits > 1 || is_negative));
        if (is_number && n_digits > 18)
            is_number = n_digits == 19 && digits <= (std::uint64_t{1} << 63) - !is_negative;
        while (!is_end(text[place])) ++place;
        if (place == begin) return place;
        qid[row] = static_cast<Index>(is_negative ? 0 - digits : digits);
        qid_span(row, 0) = begin;
        qid_span(row, 1) = is_number ? 0 : place;  // an end of 0 means that the number is the whole id
        report[TEXT_IDS] += !is_number;
        return place;
    }

    // Parse index:value pairs up to the end of the line or of its data. Return the position after them, and the next pair.
    //
    // This loop takes nearly all of the time, so the most common numbers are parsed inline: a single digit, or digits
    // over a power of ten, both exact in float64, so that the quotient is correctly rounded.
    Index pairs(Index place, Index& next_pair) const {
        const Text text = this->text;
        const View<std::int32_t> index = this->index;
        const View<Real> value = this->value;
        const Index first_index = this->first_index;
        const auto n_columns = static_cast<std::uint64_t>(end_index);
        Index pair = next_pair;
        for (;; ++pair) {
            while (text[place] == ' ' || text[place] == '\t') ++place;
            const Index start = place;
            std::uint64_t key = 0;
            std::uint8_t digit;
            for (; (digit = digit_of(text[place])) < 10; ++place) key = key * 10 + digit;
            const Index column = static_cast<Index>(key - static_cast<std::uint64_t>(first_index));
            // 0 - 1 wraps around in both
            if (static_cast<std::uint64_t>(place - start - 1) >= 10 || text[place] != ':' ||
                static_cast<std::uint64_t>(column) >= n_columns) {
                end_of_pairs(start, place, column);
                break;
            }
            const Index begin = ++place;
            double x;
            digit = digit_of(text[place]);
            if (digit < 10 && text[place + 1] == ' ') {
                x = digit;
                ++place;
            } else {
                const bool is_negative = text[place] == '-';
                if (is_negative || text[place] == '+') ++place;
                Index first = place;
                std::uint64_t digits = 0;
                for (; (digit = digit_of(text[place])) < 10; ++place) digits = digits * 10 + digit;
                Index n_digits = place - first;
                x = static_cast<double>(static_cast<std::int64_t>(digits));
                if (text[place] == '.') {
                    first = ++place;
                    for (; (digit = digit_of(text[place])) < 10; ++place) digits = digits * 10 + digit;
                    const Index n_places = place - first;
                    n_digits += n_places;
                    x = static_cast<double>(static_cast<std::int64_t>(digits)) /
                        POWERS_OF_TEN[std::min<Index>(n_places, MOST_DIGITS)];
                }
                if (is_end(text[place]) && static_cast<std::uint64_t>(n_digits - 1) < MOST_DIGITS && digits <= EXACT) {
                    x = is_negative ? -x : x;
                } else {
                    place = unusual_value(begin, column, x);
                    if (report[PROBLEM] != FINE) {
                        report[PLACE] = report[PROBLEM] == BAD_PAIR ? start : begin;
                        break;
                    }
                }
            }
            index[pair] = static_cast<std::int32_t>(column);
            value[pair] = static_cast<Real>(x);
        }
        next_pair = pair;
        return place;
    }

    // Parse a value that is not a short plain decimal. Return the position after it.
    Index unusual_value(Index start, Index column, double& x) const {
        const Number found = number(text, start);
        x = found.value;
        if (found.kind == Kind::null)
            x = null;
        else if (found.kind == Kind::hard)
            leave_to_python(column, start, found.place);
        else if (found.kind == Kind::finite && std::abs(x) >= overflow)
            report[PROBLEM] = TOO_LARGE_A_VALUE;
        else if (found.kind == Kind::bad)
            report[PROBLEM] = BAD_PAIR;
        return found.place;
    }

    // Classify the text at which no pair could be parsed: the end of the data, or an error.
    void end_of_pairs(Index start, Index place, Index column) const {
        if (place == start) {
            if (!(text[start] == '#' || is_line_end(start))) fail(BAD_PAIR, start);
        } else if (text[place] != ':') {
            fail(BAD_PAIR, start);
        } else {
            fail(place - start <= 10 && column < 0 ? INDEX_TOO_SMALL : INDEX_TOO_LARGE, start);
        }
    }

    // Sort the pairs of a row by index. Report a duplicate index, and update the largest index.
    void settle_row(Index start, Index stop, Index line) const {
        if (stop == start) return;
        const View<std::int32_t> columns = index.slice(start, stop);
        std::int32_t n_falls = 0;
#pragma omp simd reduction(+ : n_falls)
        for (Index k = 1; k < columns.size; ++k) n_falls += columns[k] <= columns[k - 1];
        if (n_falls > 0) {
            sort_pairs(columns, value.slice(start, stop));
            for (Index k = 1; k < columns.size; ++k)
                if (columns[k] == columns[k - 1]) {
                    fail(TWICE, line);
                    report[DETAIL] = columns[k];
                    return;
                }
        }
        report[LARGEST] = std::max<Index>(report[LARGEST], columns[columns.size - 1]);
    }
};

// Parse every line of a text. Stop at the first error and write its kind and position to the report. Indices start at
// first_index and give at most end_index columns; `missing` is the value of absent ones, `null` of NULL, and `overflow` the
// smallest number too large for X. Without is_dense pairs are not laid out as rows. The arrays have one row per newline.
template <class Real>
void parse(Text text, Rows<Real> X, View<double> labels, View<Index> qid, Rows<Index> qid_span, View<std::int32_t> index,
           View<Real> value, View<Index> row_end, View<std::uint8_t> comments, View<Index> comment_end, Rows<Index> hard,
           Index first_index, Index end_index, bool is_dense, bool is_kept, double missing, double null, double overflow,
           View<Index> report) {
    LetorParser<Real>{text,        X,         labels,   qid,     qid_span, index, value,    row_end, comments, comment_end, hard,
                      first_index, end_index, is_dense, is_kept, missing,  null,  overflow, report}
        .parse();
}

}  // namespace plackett::letor
