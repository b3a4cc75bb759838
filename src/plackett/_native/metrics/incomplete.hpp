// Measures for incomplete judgements. Conventions as in graded.hpp.
//
// Documents are given by codes in ranked order: relevant, judged and not relevant, in the pool but not judged, or not in
// the pool at all.
#pragma once
#include <algorithm>

#include "core/arrays.hpp"
#include "core/lists.hpp"
#include "metrics/tie_groups.hpp"

namespace plackett::metrics {

constexpr double RELEVANT = 2.0, NOT_RELEVANT = 1.0, NOT_JUDGED = 0.0, NOT_POOLED = -1.0;

// Documents by code.
struct JudgedCounts {
    double relevant = 0.0, others = 0.0, unjudged = 0.0, unpooled = 0.0;

    void add(double code) {
        relevant += code == RELEVANT;
        others += code == NOT_RELEVANT;
        unjudged += code == NOT_JUDGED;
        unpooled += code == NOT_POOLED;
    }
    void add(const JudgedCounts& more) {
        relevant += more.relevant;
        others += more.others;
        unjudged += more.unjudged;
        unpooled += more.unpooled;
    }
};

inline JudgedCounts counts_of(View<const double> codes) {
    JudgedCounts counts;
    for (const double code : codes) counts.add(code);
    return counts;
}

// 1/R · Σ over relevant documents of 1 − min(n, R) / min(N, R): n of the N judged documents that are not relevant are
// above it. In a tie group with j of these, n is uniform between those above the group and j more.
inline void bpref(View<const double> codes, View<const double> ranked, View<const std::int32_t> group_end,
                  View<const Index> indptr, View<const Index> n_ranked, Index first, Index last, View<double> values) {
    for (Index q = first; q < last; ++q) {
        const auto all = counts_of(codes.slice(indptr[q], indptr[q + 1]));
        if (all.relevant == 0.0) continue;
        const double bound = std::min(all.others, all.relevant);
        const auto own = ranked.slice(indptr[q], indptr[q] + n_ranked[q]);
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        double total = 0.0, above = 0.0;
        for (Index place = 0; place < own.size;) {
            const Index stop = groups.stop(place);
            const auto group = counts_of(own.slice(place, stop));
            if (group.relevant > 0.0 && above + group.others > 0.0) {
                double kept = 0.0;
                for (double more = 0.0; more <= group.others; more += 1.0)
                    kept += 1.0 - std::min(above + more, all.relevant) / bound;
                total += group.relevant * kept / (group.others + 1.0);
            } else {
                total += group.relevant;
            }
            above += group.others;
            place = stop;
        }
        values[q] = total / all.relevant;
    }
}

// The precision that infAP infers at place p (from 1) from the documents above it; trec_eval's smoothing.
inline double inferred_precision(double relevant, double others, double unjudged, double p) {
    constexpr double EPSILON = 1e-5;
    const double share = (relevant + EPSILON) / (relevant + others + 2.0 * EPSILON);
    return (1.0 + (relevant + others + unjudged) * share) / p;
}

// 1/R · Σ over relevant documents of the inferred precision at their place.
//
// In a tie group the documents above a relevant one at place i are i − 1 of the others, drawn without replacement. Of
// m judged ones among them, the number of relevant ones enters linearly, and so does the number of pooled ones among
// the rest, so that their means suffice: the sum is over m only. chance[m] is updated from one place to the next.
inline void infap(View<const double> codes, View<const double> ranked, View<const std::int32_t> group_end,
                  View<const Index> indptr, View<const Index> n_ranked, Index first, Index last, View<double> values) {
    const Scratch<double> chances(longest_list(indptr, first, last) + 1);
    for (Index q = first; q < last; ++q) {
        const auto all = counts_of(codes.slice(indptr[q], indptr[q + 1]));
        if (all.relevant == 0.0) continue;
        const auto own = ranked.slice(indptr[q], indptr[q] + n_ranked[q]);
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        double total = 0.0;
        JudgedCounts above;
        for (Index place = 0; place < own.size;) {
            const Index stop = groups.stop(place);
            const auto group = counts_of(own.slice(place, stop));
            if (group.relevant > 0.0) {
                const auto size = static_cast<double>(stop - place);
                const double judged = group.relevant - 1.0 + group.others, rest = group.unjudged + group.unpooled;
                const double relevant_share = judged > 0.0 ? (group.relevant - 1.0) / judged : 0.0;
                const double pooled_share = rest > 0.0 ? group.unjudged / rest : 0.0;
                const auto n_judged = static_cast<Index>(judged);
                const auto chance = chances.slice(0, n_judged + 1);
                chance.fill(0.0);
                chance[0] = 1.0;
                for (Index p = place; p < stop; ++p) {
                    const auto drawn = static_cast<double>(p - place);
                    double expected = 0.0;
                    for (Index m = 0; m <= std::min(n_judged, p - place); ++m) {
                        if (chance[m] == 0.0) continue;
                        const auto found = static_cast<double>(m);
                        expected += chance[m] * inferred_precision(above.relevant + found * relevant_share,
                                                                   above.others + found * (1.0 - relevant_share),
                                                                   above.unjudged + (drawn - found) * pooled_share,
                                                                   static_cast<double>(p + 1));
                    }
                    total += group.relevant / size * expected;
                    const double left = judged + rest - drawn;  // one more is drawn for the next place
                    if (left <= 0.0) break;
                    for (Index m = std::min(n_judged, p - place + 1); m >= 0; --m) {
                        const auto found = static_cast<double>(m);
                        const double stays = chance[m] * std::max(rest - (drawn - found), 0.0) / left;
                        const double rises = m > 0 ? chance[m - 1] * (judged - found + 1.0) / left : 0.0;
                        chance[m] = stays + rises;
                    }
                }
            }
            above.add(group);
            place = stop;
        }
        values[q] = total / all.relevant;
    }
}

}  // namespace plackett::metrics
