// Label levels of cost-sensitive ListMLE: weights of pairs of documents, and sums over pairs by recurrence.
//
// A document j costs norm · log(1 + Σ_t w_jt exp(f_t − f_j) / norm) over the documents t with lower labels. The pair
// weight is w = strength_j + sign · strength_t, the same for all documents of a label level. From one level to the next it
// changes by the same amount for every partner:
//
// - to the next better level, all partners below count strength_l − strength_{l+1} more (up),
// - to the next worse level, all partners above count sign · (strength_m − strength_{m−1}) more (down).
//
// Sums over pairs are therefore updated from level to level, in O(n) per query after the label sort.
#pragma once
#include <algorithm>
#include <cmath>

#include "core/arrays.hpp"
#include "metrics/gain.hpp"

namespace plackett {

// Bounds and level_indptr describe the levels with a cost, plus one for all documents below them. A query without cost has
// one level or none. `order` has the rows of each query in descending order of labels.
struct CostLevels {
    View<const Index> order, indptr, bounds, level_indptr;
    View<const double> strength, norm, scale;
    double sign;

    Index n_levels(Index q) const { return level_indptr[q + 1] - level_indptr[q]; }
    Index n_docs(Index q) const { return indptr[q + 1] - indptr[q]; }
    Index most_levels(Index first, Index last) const {
        Index most = 0;
        for (Index q = first; q < last; ++q) most = std::max(most, n_levels(q));
        return most;
    }
    Index most_docs(Index first, Index last) const {
        Index most = 0;
        for (Index q = first; q < last; ++q) most = std::max(most, n_docs(q));
        return most;
    }
};

struct CostQuery {  // the levels of one query; places of documents are places in its label order
    View<const Index> rows, edges;
    View<const double> strength, norm;
    double scale, sign;
    Index start;

    CostQuery(const CostLevels& all, Index q)
        : rows(all.order.slice(all.indptr[q], all.indptr[q + 1])),
          edges(all.bounds.slice(all.level_indptr[q], all.level_indptr[q + 1] + 1)),
          strength(all.strength.slice(all.level_indptr[q], all.level_indptr[q + 1])),
          norm(all.norm.slice(all.level_indptr[q], all.level_indptr[q + 1])),
          scale(all.scale[q]),
          sign(all.sign),
          start(all.indptr[q]) {}

    Index n_levels() const { return strength.size; }
    Index begin(Index level) const { return edges[level] - start; }
    Index end(Index level) const { return edges[level + 1] - start; }
    template <class T>
    View<T> of_level(View<T> of_places, Index level) const {
        return of_places.slice(begin(level), end(level));
    }
};

// Σ w · x and Σ x over the documents on one side of a level.
struct Carried {
    double weighted = 0.0, plain = 0.0;

    // For the documents below a level, from the sums of the next level and its own Σ x, `joining`. Sums are relative to a
    // number that changes by the factor `change`.
    void up(const CostQuery& query, Index level, double joining, double change) {
        const double more = query.strength[level] - query.strength[level + 1];
        weighted = (weighted + more * plain) * change;
        weighted += (query.strength[level] + query.sign * query.strength[level + 1]) * joining;
        plain = plain * change + joining;
    }
    // For the documents above a level, from the sums of the level before and its own Σ x.
    void down(const CostQuery& query, Index level, double joining, double change) {
        const double more = query.sign * (query.strength[level] - query.strength[level - 1]);
        weighted = (weighted + more * plain) * change;
        weighted += (query.strength[level - 1] + query.sign * query.strength[level]) * joining;
        plain = plain * change + joining;
    }
};

// Strength and norm of each label level, and the factor of each query's sum. With is_label the weights are the labels
// themselves, otherwise those of NDCG@k.
inline void weigh_levels(View<const double> labels, View<const Index> order, View<const Index> indptr,
                         View<const Index> bounds, View<const Index> level_indptr, bool is_label, Index k,
                         View<double> strength, View<double> norm, View<double> scale) {
    constexpr double FAINT = 1e-200;  // of the query's largest strength; weaker levels are ignored, or quotients would
                                      // lose their precision
    constexpr double LN2 = 0.69314718055994530942;
    for (Index q = 0; q < indptr.size - 1; ++q) {
        const Index first = level_indptr[q], last = level_indptr[q + 1];
        scale[q] = 0.0;
        if (first == last) continue;
        const double best = labels[order[bounds[first]]], largest = metrics::exponential_gain(best, best);
        double ideal = 0.0, total = 0.0;
        for (Index level = first; level < last; ++level) {
            const double label = labels[order[bounds[level]]], size = static_cast<double>(bounds[level + 1] - bounds[level]);
            const Index place = bounds[level] - indptr[q] + 1;
            const double next = 1.0 + static_cast<double>(place);
            const double worth = largest > 0.0 ? metrics::exponential_gain(label, best) / largest : 0.0;
            strength[level] = norm[level] = 0.0;
            if (place <= k) ideal += size * worth / std::log2(next);
            if (is_label && best > 0.0) strength[level] = std::max(label, 0.0) / best;
            if (!is_label && place <= k) strength[level] = worth * LN2 / (next * std::log(next) * std::log(next));
            if (strength[level] < FAINT) strength[level] = 0.0;
            total += size * strength[level];
        }
        if (ideal == 0.0 || total == 0.0) continue;
        scale[q] = 1.0 / (ideal * LN2);
        // gains are relative to that of the best label, which must be undone here
        if (is_label) scale[q] /= total * largest * std::exp2(best);
        double strength_below = 0.0;
        for (Index level = last - 2; level >= first; --level) {
            const auto below = static_cast<double>(indptr[q + 1] - bounds[level + 1]);
            strength_below += static_cast<double>(bounds[level + 2] - bounds[level + 1]) * strength[level + 1];
            if (strength[level] > 0.0) norm[level] = is_label ? strength[level] : below * strength[level] + strength_below;
        }
    }
}

}  // namespace plackett
