// Checks of postings from a file, before any other kernel uses them.
#pragma once
#include "core/arrays.hpp"

namespace plackett::text {

// The number of leading postings that are valid: documents 0 to n_docs - 1, ascending within a term, each with a count of
// at least 1. The bounds ascend from 0 to the number of postings; Python has checked that.
inline Index count_sound_postings(View<const Index> indptr, View<const std::int32_t> docs,
                                  View<const std::int32_t> tf, Index n_docs) {
    for (Index term = 0; term + 1 < indptr.size; ++term) {
        Index before = -1;
        for (Index place = indptr[term]; place < indptr[term + 1]; ++place) {
            if (docs[place] <= before || docs[place] >= n_docs || tf[place] < 1) return place;
            before = docs[place];
        }
    }
    return docs.size;
}

}  // namespace plackett::text
