// Writer of LETOR text: shortest decimals first, then whole lines.
//
// Compiled without fused multiply-add (see CMakeLists.txt), so that both builds write the same bytes.
#pragma once
#include <cmath>
#include <string_view>

#include "data/decimals.hpp"

namespace plackett::letor {

constexpr std::int8_t AS_TEXT = -1;  // in `places`: the number is in the list of texts

// Each number as digits / 10**places with the fewest places that the reader converts back to the same number. If 53 bits of
// digits or 22 places are not enough, places is AS_TEXT. Return the number of these.
template <class Real>
Index decimals(View<const Real> numbers, View<Index> digits, View<std::int8_t> places) {
    Index n_texts = 0;
    for (Index k = 0; k < numbers.size; ++k) {
        const Real size = std::abs(numbers[k]);  // NaN and infinity leave the loop immediately
        places[k] = AS_TEXT;
        for (int place = 0; place < N_POWERS_OF_TEN; ++place) {
            const double shifted = static_cast<double>(size) * POWERS_OF_TEN[place];
            if (!(shifted < static_cast<double>(EXACT))) break;
            const double whole = std::floor(shifted + 0.5);
            if (static_cast<Real>(whole / POWERS_OF_TEN[place]) == size) {
                digits[k] = static_cast<Index>(whole);
                places[k] = static_cast<std::int8_t>(place);
                break;
            }
        }
        n_texts += places[k] == AS_TEXT;
    }
    return n_texts;
}

// A list of numbers as returned by `decimals`; AS_TEXT takes the next text, text i from bounds[i] to bounds[i + 1].
template <class Real>
struct Decimals {
    View<const Real> numbers;
    View<const Index> digits;
    View<const std::int8_t> places;
    Text texts;
    View<const Index> bounds;
    Index next_text = 0;
};

class LetorWriter {
public:
    explicit LetorWriter(View<std::uint8_t> out) : out(out) {}

    Index size() const { return at; }

    void put(std::uint8_t c) { out[at++] = c; }

    void put(std::string_view text) {
        for (const char c : text) put(static_cast<std::uint8_t>(c));
    }

    void put(Text text) {
        std::copy(text.begin(), text.end(), out.slice(at, at + text.size).begin());
        at += text.size;
    }

    // Write a whole number with at least the given number of digits.
    void put_digits(Index number, Index n_least) {
        auto digits = static_cast<std::uint64_t>(number);
        Index n = 1;
        for (std::uint64_t rest = digits; rest >= 10; rest /= 10) ++n;
        n = std::max(n, n_least);
        for (Index k = at + n - 1; k >= at; --k, digits /= 10) out[k] = static_cast<std::uint8_t>('0' + digits % 10);
        at += n;
    }

    template <class Real>
    void put_number(Decimals<Real>& decimals, Index k) {
        const Index n_places = decimals.places[k];
        if (n_places == AS_TEXT) {
            const Index text = decimals.next_text++;
            put(decimals.texts.slice(decimals.bounds[text], decimals.bounds[text + 1]));
            return;
        }
        if (std::signbit(decimals.numbers[k])) put('-');
        if (n_places == 0) return put_digits(decimals.digits[k], 1);
        put_digits(decimals.digits[k], n_places + 1);
        const auto fraction = out.slice(at - n_places, at + 1);
        std::copy_backward(fraction.begin(), fraction.end() - 1, fraction.end());
        fraction[0] = '.';
        ++at;
    }

private:
    View<std::uint8_t> out;
    Index at = 0;
};

// Write rows. Return the number of bytes. pair_ptr bounds the pairs of each row, `query` is the index of its id; if
// note_bounds is empty there are no comments.
template <class Real>
Index write_lines(View<const double> label_numbers, View<const Index> label_digits, View<const std::int8_t> label_places,
                  Text label_texts, View<const Index> label_bounds, View<const Real> numbers, View<const Index> digits,
                  View<const std::int8_t> places, Text texts, View<const Index> bounds, View<const Index> pair_ptr,
                  View<const Index> index, View<const Index> query, Text ids, View<const Index> id_bounds, Text notes,
                  View<const Index> note_bounds, View<std::uint8_t> out) {
    Decimals<double> labels{label_numbers, label_digits, label_places, label_texts, label_bounds};
    Decimals<Real> values{numbers, digits, places, texts, bounds};
    LetorWriter writer(out);
    for (Index row = 0; row < query.size; ++row) {
        writer.put_number(labels, row);
        writer.put(" qid:");
        writer.put(ids.slice(id_bounds[query[row]], id_bounds[query[row] + 1]));
        for (Index pair = pair_ptr[row]; pair < pair_ptr[row + 1]; ++pair) {
            writer.put(' ');
            writer.put_digits(index[pair], 1);
            writer.put(':');
            writer.put_number(values, pair);
        }
        if (note_bounds.size > 0 && note_bounds[row + 1] > note_bounds[row]) {
            writer.put(" #");
            writer.put(notes.slice(note_bounds[row], note_bounds[row + 1]));
        }
        writer.put('\n');
    }
    return writer.size();
}

}  // namespace plackett::letor
