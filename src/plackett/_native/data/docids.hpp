// Search for document names in comments.
#pragma once
#include <algorithm>
#include <string_view>

#include "core/arrays.hpp"

namespace plackett::text_column {

// ASCII white space as in str.strip.
inline bool is_blank(std::uint8_t c) { return c == 32 || (c >= 9 && c <= 13) || (c >= 28 && c <= 31); }

struct Span {
    Index start, stop;
};

// The text before the first tab, where a title may follow. The text has no surrounding blanks.
inline Span before_tab(View<const std::uint8_t> buffer, Span text) {
    Index end = text.start;
    while (end < text.stop && buffer[end] != '\t') ++end;
    while (end > text.start && is_blank(buffer[end - 1])) --end;
    return {text.start, end};
}

// The word after "docid =", or the text before the first tab if it has no "docid =".
inline Span after_docid(View<const std::uint8_t> buffer, Span text) {
    constexpr std::string_view DOCID = "docid";
    Index at = text.start;
    for (const char c : DOCID)
        if (at == text.stop || buffer[at++] != static_cast<std::uint8_t>(c)) return before_tab(buffer, text);
    while (at < text.stop && is_blank(buffer[at])) ++at;
    if (at == text.stop || buffer[at] != '=') return before_tab(buffer, text);
    ++at;
    while (at < text.stop && is_blank(buffer[at])) ++at;
    if (at == text.stop) return before_tab(buffer, text);
    Index end = at;
    while (end < text.stop && !is_blank(buffer[end])) ++end;
    return {at, end};
}

// The span of the document name in each text; the start is -1 for texts with non-ASCII characters. Return the length of the
// longest name.
inline Index docid_spans(View<const std::uint8_t> buffer, View<const Index> bounds, Rows<Index> spans) {
    Index longest = 0;
    for (Index row = 0; row < bounds.size - 1; ++row) {
        auto [start, stop] = Span{bounds[row], bounds[row + 1]};
        const auto text = buffer.slice(start, stop);
        std::uint8_t bits = 0;
        for (const std::uint8_t c : text) bits |= c;
        if (bits >= 128) {
            spans(row, 0) = spans(row, 1) = -1;
            continue;
        }
        while (start < stop && is_blank(buffer[start])) ++start;
        while (stop > start && is_blank(buffer[stop - 1])) --stop;
        const Span name = after_docid(buffer, {start, stop});
        spans(row, 0) = name.start;
        spans(row, 1) = name.stop;
        longest = std::max(longest, name.stop - name.start);
    }
    return longest;
}

// Copy each span to its row of characters, one code point per cell.
inline void copy_spans(View<const std::uint8_t> buffer, Rows<const Index> spans, Rows<std::uint32_t> characters) {
    for (Index row = 0; row < spans.n_rows; ++row) {
        if (spans(row, 0) < 0) continue;
        const auto name = buffer.slice(spans(row, 0), spans(row, 1));
        std::copy(name.begin(), name.end(), characters[row].slice(0, name.size).begin());
    }
}

}  // namespace plackett::text_column
