// Measures that use only whether a document is relevant. Conventions as in graded.hpp.
#pragma once
#include <algorithm>

#include "core/arrays.hpp"
#include "metrics/tie_groups.hpp"

namespace plackett::metrics {

inline Index relevant_in(View<const double> labels, double relevant_from) {
    Index total = 0;
    for (Index p = 0; p < labels.size; ++p) total += labels[p] >= relevant_from;
    return total;
}

inline void count_relevant(View<const double> labels, View<const Index> indptr, double relevant_from, Index first,
                           Index last, View<double> values) {
    for (Index q = first; q < last; ++q)
        values[q] = static_cast<double>(relevant_in(labels.slice(indptr[q], indptr[q + 1]), relevant_from));
}

// (Expected) number of relevant documents among the first limits[q], which are at most n_ranked[q].
inline void hits(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                 View<const Index> n_ranked, View<const Index> limits, double relevant_from, Index first, Index last,
                 View<double> values) {
    for (Index q = first; q < last; ++q) {
        const Index limit = limits[q];
        const auto own = ranked.slice(indptr[q], indptr[q] + n_ranked[q]);
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        if (groups.empty()) {
            values[q] = static_cast<double>(relevant_in(own.slice(0, limit), relevant_from));
            continue;
        }
        double total = 0.0;
        for (Index place = 0; place < limit;) {
            const Index stop = groups.stop(place), size = stop - place;
            const auto relevant = static_cast<double>(relevant_in(own.slice(place, stop), relevant_from));
            total += stop <= limit ? relevant
                                   : relevant * static_cast<double>(limit - place) / static_cast<double>(size);
            place = stop;
        }
        values[q] = total;
    }
}

// Without ties, and without branches, because relevance cannot be predicted. `seen` is work space.
inline double sum_of_precisions(View<const double> labels, double relevant_from, View<std::int32_t> seen) {
    const auto n = static_cast<std::int32_t>(labels.size);
    std::int32_t n_seen = 0;
    for (std::int32_t p = 0; p < n; ++p) seen[p] = n_seen += labels[p] >= relevant_from;
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (std::int32_t p = 0; p < n; ++p) {
        const double precision = static_cast<double>(seen[p]) / static_cast<double>(p + 1);
        total += labels[p] >= relevant_from ? precision : 0.0;
    }
    return total;
}

// Σ over relevant documents of the precision at their place, before the division by their number.
//
// In a tie group of d documents, r of them relevant, that starts after s documents, R of them relevant, place s + i has a
// relevant document with probability r/d; then R + 1 + (i − 1)(r − 1)/(d − 1) relevant ones are at or above it.
// is_together: tied documents arrive at once, so all r have the precision at the end of the group.
inline void average_precision(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                              View<const Index> n_ranked, View<const double> n_relevant, Index k, double relevant_from,
                              bool is_together, Index first, Index last, View<double> values) {
    Index longest = 0;
    for (Index q = first; q < last; ++q) longest = std::max(longest, std::min(k, n_ranked[q]));
    const Scratch<std::int32_t> room(longest);
    for (Index q = first; q < last; ++q) {
        if (n_relevant[q] == 0.0) continue;
        const Index limit = std::min(k, n_ranked[q]);
        const auto own = ranked.slice(indptr[q], indptr[q] + n_ranked[q]);
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        if (groups.empty()) {
            values[q] = sum_of_precisions(own.slice(0, limit), relevant_from, room);
            continue;
        }
        double total = 0.0, seen = 0.0;
        for (Index place = 0; place < limit;) {
            const Index stop = groups.stop(place);
            const auto size = static_cast<double>(stop - place);
            const auto relevant = static_cast<double>(relevant_in(own.slice(place, stop), relevant_from));
            if (relevant > 0.0) {
                if (stop == place + 1) {
                    total += (seen + 1.0) / static_cast<double>(place + 1);
                } else if (is_together) {
                    total += relevant * (seen + relevant) / static_cast<double>(stop);
                } else {
                    const double growth = (relevant - 1.0) / (size - 1.0);
                    for (Index p = place; p < std::min(stop, limit); ++p)
                        total += relevant / size * (seen + 1.0 + static_cast<double>(p - place) * growth) /
                                 static_cast<double>(p + 1);
                }
            }
            seen += relevant;
            place = stop;
        }
        values[q] = total;
    }
}

// One over the (random) place of the first relevant document, 0 beyond k.
inline void reciprocal_rank(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                            View<const Index> n_ranked, View<const double> n_relevant, Index k, double relevant_from,
                            Index first, Index last, View<double> values) {
    for (Index q = first; q < last; ++q) {
        if (n_relevant[q] == 0.0) continue;
        const Index limit = std::min(k, n_ranked[q]);
        const auto own = ranked.slice(indptr[q], indptr[q] + n_ranked[q]);
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        double total = 0.0;
        for (Index place = 0; place < limit;) {
            const Index stop = groups.stop(place);
            const auto relevant = static_cast<double>(relevant_in(own.slice(place, stop), relevant_from));
            if (relevant > 0.0) {
                double still_none = 1.0;  // probability that the group's earlier places have no relevant document
                for (Index p = place; p < std::min(stop, limit) && still_none > 0.0; ++p) {
                    const double here = still_none * relevant / static_cast<double>(stop - p);
                    total += here / static_cast<double>(p + 1);
                    still_none -= here;
                }
                break;
            }
            place = stop;
        }
        values[q] = total;
    }
}

// (Probability of) a relevant document among the first k.
inline void success(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                    View<const Index> n_ranked, View<const double> n_relevant, Index k, double relevant_from,
                    Index first, Index last, View<double> values) {
    for (Index q = first; q < last; ++q) {
        if (n_relevant[q] == 0.0) continue;
        const Index limit = std::min(k, n_ranked[q]);
        const auto own = ranked.slice(indptr[q], indptr[q] + n_ranked[q]);
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        double none = 1.0;  // probability that no relevant document was found
        for (Index place = 0; place < limit && none > 0.0;) {
            const Index stop = groups.stop(place);
            const Index others = stop - place - relevant_in(own.slice(place, stop), relevant_from);
            for (Index p = place; p < std::min(stop, limit); ++p)  // drawn one by one, without replacement
                none *= static_cast<double>(std::max<Index>(others - (p - place), 0)) / static_cast<double>(stop - p);
            place = stop;
        }
        values[q] = 1.0 - none;
    }
}

// Σ over relevant documents among the first k of the weight of their place; a tie group has its mean weight.
inline void weighted_hits(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                          View<const Index> n_ranked, View<const double> n_relevant, View<const double> weights,
                          double relevant_from, Index first, Index last, View<double> values) {
    for (Index q = first; q < last; ++q) {
        if (n_relevant[q] == 0.0) continue;
        const Index limit = std::min(weights.size, n_ranked[q]);
        const auto own = ranked.slice(indptr[q], indptr[q] + n_ranked[q]);
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        double total = 0.0;
        for (Index place = 0; place < limit;) {
            const Index stop = groups.stop(place);
            const auto relevant = static_cast<double>(relevant_in(own.slice(place, stop), relevant_from));
            if (relevant > 0.0) {
                double weight = 0.0;
                for (Index p = place; p < std::min(stop, limit); ++p) weight += weights[p];
                total += weight * relevant / static_cast<double>(stop - place);
            }
            place = stop;
        }
        values[q] = total;
    }
}

}  // namespace plackett::metrics
