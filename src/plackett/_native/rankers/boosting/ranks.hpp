// Ranks within a list, stored doubled, as whole numbers, because documents that tie share the mean of their
// places.
#pragma once
#include <cmath>

#include "core/arrays.hpp"
#include "core/sort.hpp"
#include "rankers/boosting/pair_counts.hpp"

namespace plackett::boosting {

constexpr double TIE = 1e-10;  // sums of ranks closer than this are tied; values of features tie only if they are equal

// Sorted values, their documents, and the resulting ranks.
struct Ranking {
    View<const double> values;
    View<const Index> order;
    View<Index> sequence;  // documents in ascending order of rank
    View<std::int32_t> ranks;
};

// Rank the sorted values from start to stop, up (step 1) or down (-1), as the places after `base`. Neighbours for which
// `ties` holds share their rank. Return the base of the next values.
template <Index step, class Ties>
inline Index rank_run(const Ranking& list, Index start, Index stop, Index base, Ties ties) {
    Index i = step > 0 ? start : stop - 1;
    const Index end = step > 0 ? stop : start - 1;
    while (i != end) {
        Index j = i + step;
        while (j != end && ties(list.values[j], list.values[j - step])) j += step;
        const Index size = (j - i) * step;
        const auto rank = static_cast<std::int32_t>(2 * base + size + 1);
        for (; i != j; i += step) {
            list.ranks[list.order[i]] = rank;
            list.sequence[base + (j - i) * step - 1] = list.order[i];
        }
        base += size;
    }
    return base;
}

inline bool sums_tie(double a, double b) { return a == b || std::abs(a - b) < TIE; }

// The centres of a feature in ascending order, each with the number and the sign of its part; places[k] is the centre
// of the k-th part from the lowest.
struct FeatureCentres {
    View<const double> centres;
    View<const Index> parts, signs, places;
};

// Rank by key: first the part of the nearest centre, then the value times the sign of that part; values of a part whose
// sign is 0 tie. Values are sorted, so that the values of a centre are contiguous.
inline void rank_by_parts(const Ranking& list, const FeatureCentres& feature, View<Index> bounds) {
    const auto [centres, parts, signs, places] = feature;
    const Index n = list.values.size, n_centres = centres.size;
    Index now = 0;
    bounds[0] = 0;
    for (Index i = 0; i < n; ++i) {
        const double value = list.values[i];
        while (now + 1 < n_centres) {
            if (value < centres[now + 1]) {
                const double ahead = centres[now + 1] - value, behind = value - centres[now];
                if (behind < ahead || (behind == ahead && parts[now] < parts[now + 1])) break;
            }
            ++now;
            bounds[now] = i;
        }
    }
    for (Index k = now + 1; k <= n_centres; ++k) bounds[k] = n;
    Index base = 0;
    const auto equal = [](double a, double b) { return a == b; };
    for (Index k = 0; k < n_centres; ++k) {
        const Index c = places[k], start = bounds[c], stop = bounds[c + 1];
        if (signs[c] == 0)
            base = rank_run<1>(list, start, stop, base, [](double, double) { return true; });
        else if (signs[c] < 0)
            base = rank_run<-1>(list, start, stop, base, equal);
        else
            base = rank_run<1>(list, start, stop, base, equal);
    }
}

// Work space to rank lists of at most `longest` documents by sums of ranks and to count their pairs.
class SumRanker {
public:
    explicit SumRanker(Index longest)
        : keys(longest), order(longest), sequence(longest), sort(longest), count(longest) {}

    View<double> sums(Index n) const { return keys.slice(0, n); }  // to be filled before ranking

    void rank(View<std::int32_t> ranks) const {
        const Index n = ranks.size;
        sort(keys.slice(0, n), order.slice(0, n));
        rank_run<1>({keys.slice(0, n), order.slice(0, n), sequence.slice(0, n), ranks}, 0, n, 0, sums_tie);
    }

    // Pairs in the right and in the wrong order by the sums, which were ranked.
    std::pair<Index, Index> pairs(Index n, LevelBounds levels, Index top) const {
        const auto ties = [&](Index i) { return sums_tie(keys[i], keys[i - 1]); };
        return count(order.slice(0, n), ties, levels, top);
    }
    // The same without their ranks.
    std::pair<Index, Index> pairs_of_sums(Index n, LevelBounds levels, Index top) const {
        sort(keys.slice(0, n), order.slice(0, n));
        return pairs(n, levels, top);
    }

private:
    Scratch<double> keys;
    Scratch<Index> order, sequence;
    BucketSort sort;
    PairCounter count;
};

}  // namespace plackett::boosting
