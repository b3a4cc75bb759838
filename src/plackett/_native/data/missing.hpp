// Fill missing values (NaN) by medians within queries. Callers have checked everything and own the outputs.
#pragma once
#include <algorithm>
#include <cmath>

#include "core/arrays.hpp"

namespace plackett::missing {

// Replace NaN in queries first to last - 1 of grouped rows by the median of the column in the query, or by `fallback` where
// all of its values are missing. The median of an even number of values is the mean of the two in the middle.
template <class Real>
void fill_query_medians(Rows<Real> X, View<const Index> indptr, Index first, Index last, View<const double> fallback) {
    Index longest = 0;
    for (Index q = first; q < last; ++q) longest = std::max(longest, indptr[q + 1] - indptr[q]);
    const Scratch<Real> room(longest);
    for (Index q = first; q < last; ++q)
        for (Index column = 0; column < X.n_columns; ++column) {
            Index n_known = 0;
            for (Index doc = indptr[q]; doc < indptr[q + 1]; ++doc)
                if (const Real value = X(doc, column); !std::isnan(value)) room[n_known++] = value;
            if (n_known == indptr[q + 1] - indptr[q]) continue;
            double median = fallback[column];
            if (n_known > 0) {
                const View<Real> known = room.slice(0, n_known);
                const auto middle = known.begin() + n_known / 2;
                std::nth_element(known.begin(), middle, known.end());
                median = static_cast<double>(*middle);
                if (n_known % 2 == 0) median = 0.5 * median + 0.5 * static_cast<double>(*std::max_element(known.begin(), middle));
            }
            for (Index doc = indptr[q]; doc < indptr[q + 1]; ++doc)
                if (std::isnan(X(doc, column))) X(doc, column) = static_cast<Real>(median);
        }
}

}  // namespace plackett::missing
