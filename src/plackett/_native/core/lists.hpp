// Bounds of lists: list q has rows indptr[q] to indptr[q + 1].
#pragma once
#include "core/arrays.hpp"

namespace plackett {

inline Index longest_list(View<const Index> indptr, Index first, Index last) {
    Index longest = 0;
    for (Index q = first; q < last; ++q) longest = std::max(longest, indptr[q + 1] - indptr[q]);
    return longest;
}

}  // namespace plackett
