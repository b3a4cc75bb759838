// Checks of sparse matrices for plackett.validation.check_csr. One pass, no copies.
#pragma once
#include <utility>

#include "core/arrays.hpp"

namespace plackett::sparse_check {

template <class Place>
bool is_rising(View<const Place> indptr) {
    Place n_falls = 0;  // as wide as the compared numbers, so that vectors need no conversion
#pragma omp simd reduction(+ : n_falls)
    for (Index row = 1; row < indptr.size; ++row) n_falls += indptr[row - 1] > indptr[row];
    return n_falls == 0;
}

// The smallest and the largest index; there is at least one.
template <class Place>
std::pair<Index, Index> bounds(View<const Place> indices) {
    Place low = indices[0], high = indices[0];
#pragma omp simd reduction(min : low) reduction(max : high)
    for (Index k = 0; k < indices.size; ++k) {
        const Place index = indices[k];
        low = index < low ? index : low;
        high = index > high ? index : high;
    }
    return {low, high};
}

}  // namespace plackett::sparse_check
