// One pass over X per evaluation: score a few queries, compute the slope of their loss, and add their part of the gradient
// while their rows are in the cache. X is Rows or SparseRows. Each group of queries costs one virtual call of the loss.
#pragma once
#include "core/lists.hpp"
#include "losses/loss.hpp"
#include "scorers/linear.hpp"

namespace plackett {

// The end of a run of queries from `first` with about `rows_at_once` rows, at least one query.
inline Index few_queries(View<const Index> indptr, Index first, Index rows_at_once) {
    const Index limit = indptr[first] + rows_at_once;
    Index last = first + 1;
    while (last < indptr.size - 1 && indptr[last + 1] <= limit) ++last;
    return last;
}

// The most rows that a run of queries can have.
inline Index most_rows(View<const Index> indptr, Index rows_at_once) {
    const Index longest = longest_list(indptr, 0, indptr.size - 1);
    return std::min(std::max(longest, rows_at_once), indptr[indptr.size - 1]);
}

// Work space for one run, indexed by row among all rows. It stays in the L1 cache, unlike arrays of all rows.
inline View<double> of_rows(const Scratch<double>& room, Index first, Index last) {
    const auto start = reinterpret_cast<std::uintptr_t>(room.slice(0, last - first).data);
    View<double> view{reinterpret_cast<double*>(start - static_cast<std::uintptr_t>(first) * sizeof(double)), last};
#ifdef PLACKETT_CHECKED
    view.begin_index = first;
#endif
    return view;
}

inline void weigh(View<double> slope, View<const Index> indptr, View<const double> weights, Index first, Index last) {
    if (weights.size == 0) return;  // equal weights
    for (Index q = first; q < last; ++q)
        for (Index i = indptr[q]; i < indptr[q + 1]; ++i) slope[i] *= weights[q];
}

// Losses of all queries of the loss; adds their gradient to `gradient`. X has their rows.
template <class Matrix>
void evaluate_rows(Matrix X, View<const double> coef, const Loss& loss, View<const double> weights, Index rows_at_once,
                   View<double> values, View<double> gradient) {
    const auto indptr = loss.indptr();
    const Index most = most_rows(indptr, rows_at_once);
    const Scratch<double> score_room(most), slope_room(most);
    for (Index first = 0; first < indptr.size - 1;) {
        const Index last = few_queries(indptr, first, rows_at_once), begin = indptr[first], end = indptr[last];
        const auto scores = of_rows(score_room, begin, end), slope = of_rows(slope_room, begin, end);
        score(X.slice(begin, end), coef, scores.slice(begin, end));
        loss.evaluate(scores, slope, values, first, last);
        weigh(slope, indptr, weights, first, last);
        pull_back(X.slice(begin, end), slope.slice(begin, end), gradient);
        first = last;
    }
}

// The curvature product at `coef`: rows times `direction`, the loss's product with that, and its pull-back, added to
// `gradient`. Scores are computed again because the rows are in the cache; keeping them would need memory.
template <class Matrix>
void multiply_rows(Matrix X, View<const double> coef, View<const double> direction, const Loss& loss,
                   View<const double> weights, Index rows_at_once, View<double> gradient) {
    const auto indptr = loss.indptr();
    const Index most = most_rows(indptr, rows_at_once);
    const Scratch<double> score_room(most), moved_room(most), slope_room(most);
    for (Index first = 0; first < indptr.size - 1;) {
        const Index last = few_queries(indptr, first, rows_at_once), begin = indptr[first], end = indptr[last];
        const auto scores = of_rows(score_room, begin, end), moved = of_rows(moved_room, begin, end);
        const auto slope = of_rows(slope_room, begin, end);
        score_two(X.slice(begin, end), coef, direction, scores.slice(begin, end), moved.slice(begin, end));
        loss.multiply(scores, moved, slope, first, last);
        weigh(slope, indptr, weights, first, last);
        pull_back(X.slice(begin, end), slope.slice(begin, end), gradient);
        first = last;
    }
}

}  // namespace plackett
