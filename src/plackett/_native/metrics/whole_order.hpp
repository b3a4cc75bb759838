// Measures that compare whole orders. Conventions as in graded.hpp.
#pragma once
#include <algorithm>

#include "core/arrays.hpp"
#include "core/lists.hpp"
#include "metrics/binary.hpp"
#include "metrics/inversions.hpp"
#include "metrics/tie_groups.hpp"

namespace plackett::metrics {

// Pairs with different labels in a run of descending labels.
inline Index pairs_of_different_labels(View<const double> labels) {
    const Index n = labels.size;
    Index equal = 0;
    for (Index start = 0; start < n;) {
        Index stop = start + 1;
        while (stop < n && labels[stop] == labels[start]) ++stop;
        equal += (stop - start) * (stop - start - 1) / 2;
        start = stop;
    }
    return n * (n - 1) / 2 - equal;
}

// Share of all pairs in which the later document has the larger label; pairs in a tie group count half.
//
// Labels are in descending order within tie groups, so that no pair in a group counts as discordant.
inline void misordered(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                       Index first, Index last, View<double> values) {
    const Rises rises(longest_list(indptr, first, last));
    for (Index q = first; q < last; ++q) {
        const auto own = ranked.slice(indptr[q], indptr[q + 1]);
        if (own.size < 2) continue;
        auto wrong = static_cast<double>(rises.count(own));
        const auto groups = own_groups(group_end, indptr, q, own.size);
        for (Index place = 0; !groups.empty() && place < own.size;) {
            const Index stop = groups.stop(place);
            if (stop - place > 1)
                wrong += 0.5 * static_cast<double>(pairs_of_different_labels(own.slice(place, stop)));
            place = stop;
        }
        values[q] = wrong / (0.5 * static_cast<double>(own.size) * static_cast<double>(own.size - 1));
    }
}

// Expected share of the true top k among the first k.
inline void persistence(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                        View<const double> ideal, Index k, Index first, Index last, View<double> values) {
    for (Index q = first; q < last; ++q) {
        const auto own = ranked.slice(indptr[q], indptr[q + 1]), best = ideal.slice(indptr[q], indptr[q + 1]);
        const Index limit = std::min(k, own.size);
        if (limit == 0) continue;
        const double border = best[limit - 1];
        Index above = 0, level = 0;
        for (Index p = 0; p < best.size; ++p) {
            above += best[p] > border;
            level += best[p] == border;
        }
        // probability that a document at the border belongs to the true top k
        const double share = static_cast<double>(limit - above) / static_cast<double>(level);
        const auto groups = own_groups(group_end, indptr, q, own.size);
        double total = 0.0;
        for (Index place = 0; place < limit;) {
            const Index stop = groups.stop(place);
            double inside = 0.0;
            for (Index p = place; p < stop; ++p) inside += own[p] > border ? 1.0 : own[p] == border ? share : 0.0;
            total += inside * static_cast<double>(std::min(stop, limit) - place) / static_cast<double>(stop - place);
            place = stop;
        }
        values[q] = total / static_cast<double>(limit);
    }
}

// Probability that no document is above one with a larger label; labels are in descending order within tie groups.
inline void exact(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr, Index first,
                  Index last, View<double> values) {
    for (Index q = first; q < last; ++q) {
        const auto own = ranked.slice(indptr[q], indptr[q + 1]);
        if (own.size == 0) continue;
        double chance = std::is_sorted(own.begin(), own.end(), std::greater<>()) ? 1.0 : 0.0;
        const auto groups = own_groups(group_end, indptr, q, own.size);
        for (Index place = 0; chance > 0.0 && !groups.empty() && place < own.size;) {
            const Index stop = groups.stop(place);
            Index run = 0;
            for (Index p = place; p < stop; ++p) {  // (product of the levels' factorials) / (the group's), factor by factor
                run = p > place && own[p] == own[p - 1] ? run + 1 : 1;
                chance *= static_cast<double>(run) / static_cast<double>(p - place + 1);
            }
            place = stop;
        }
        values[q] = chance;
    }
}

// Share of the pairs of a relevant and another document in which the relevant one is above; tied pairs count half.
inline void auc(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                double relevant_from, Index first, Index last, View<double> values) {
    for (Index q = first; q < last; ++q) {
        const auto own = ranked.slice(indptr[q], indptr[q + 1]);
        const auto groups = own_groups(group_end, indptr, q, own.size);
        double above = 0.0, n_relevant = 0.0;
        for (Index place = 0; place < own.size;) {
            const Index stop = groups.stop(place);
            const auto relevant = static_cast<double>(relevant_in(own.slice(place, stop), relevant_from));
            const double others = static_cast<double>(stop - place) - relevant;
            above += others * (n_relevant + 0.5 * relevant);
            n_relevant += relevant;
            place = stop;
        }
        const double n_pairs = n_relevant * (static_cast<double>(own.size) - n_relevant);
        if (n_pairs > 0.0) values[q] = above / n_pairs;
    }
}

// Mean place, from 1, of the relevant documents; those of a tie group have its mean place.
inline void average_rank(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                         double relevant_from, Index first, Index last, View<double> values) {
    for (Index q = first; q < last; ++q) {
        const auto own = ranked.slice(indptr[q], indptr[q + 1]);
        const auto groups = own_groups(group_end, indptr, q, own.size);
        double total = 0.0, n_relevant = 0.0;
        for (Index place = 0; place < own.size;) {
            const Index stop = groups.stop(place);
            const auto relevant = static_cast<double>(relevant_in(own.slice(place, stop), relevant_from));
            total += relevant * 0.5 * static_cast<double>(place + 1 + stop);
            n_relevant += relevant;
            place = stop;
        }
        if (n_relevant > 0.0) values[q] = total / n_relevant;
    }
}

}  // namespace plackett::metrics
