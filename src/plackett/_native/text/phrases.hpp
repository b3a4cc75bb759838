// Whether documents contain the terms of a phrase side by side.
#pragma once
#include "core/arrays.hpp"

namespace plackett::text {

constexpr std::int32_t ANY_WORD = -1;

// Document d is numbers[bounds[d]:bounds[d + 1]], its terms in order; ANY_WORD in `wanted` matches any one word.
inline void hold_phrase(View<const std::int32_t> numbers, View<const Index> bounds, View<const Index> docs,
                        View<const std::int32_t> wanted, View<bool> answer) {
    const auto is_here = [&](Index start) {
        for (Index offset = 0; offset < wanted.size; ++offset)
            if (wanted[offset] != ANY_WORD && numbers[start + offset] != wanted[offset]) return false;
        return true;
    };
    for (Index i = 0; i < docs.size; ++i) {
        const Index last = bounds[docs[i] + 1] - wanted.size;
        Index start = bounds[docs[i]];
        while (start <= last && !is_here(start)) ++start;
        answer[i] = start <= last;
    }
}

}  // namespace plackett::text
