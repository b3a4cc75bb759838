// Sums over the pairs of losses with a threshold: the hinge losses, in O(n log n) per query.
//
// The plan (divide_and_conquer.hpp) determines which pairs are enumerated and which are in a crossing. A crossing of two
// sorted halves is one walk along the coordinates of hinges.hpp. The walk updates the number of documents passed, their
// summed distances and their summed squared distances. Each step adds only positive numbers, so nothing cancels for any
// range of scores.
#pragma once
#include "losses/pairwise/merge.hpp"
#include "losses/pairwise/enumeration.hpp"

namespace plackett {

constexpr Index FEW = 64;  // pairs within the width that a document of a crossing sums one by one

// ---- enumerated pairs

// n_rows better documents from i on against places first:last. Return their loss and add the pull on both sides.
template <class Kind>
inline double meet_rows(Kind kind, View<const double> values, View<double> pull, Index i, Index n_rows, Index first,
                        Index last) {
    Cut cuts[4];
    take_four(cuts, i, n_rows, NOWHERE, [&](Index k) { return kind.cut(values[k]); });
    const Cut c0 = cuts[0], c1 = cuts[1], c2 = cuts[2], c3 = cuts[3];
    check_slice(first, last, values.size);
    const double* x = values.data;
    double* p = pull.data;
    double loss = 0.0, p0 = 0.0, p1 = 0.0, p2 = 0.0, p3 = 0.0;
#pragma omp simd reduction(+ : loss, p0, p1, p2, p3)
    for (Index j = first; j < last; ++j) {
        const Met m0 = kind.meet(x[j], c0), m1 = kind.meet(x[j], c1), m2 = kind.meet(x[j], c2), m3 = kind.meet(x[j], c3);
        loss += (m0.loss + m1.loss) + (m2.loss + m3.loss);
        p0 += m0.pull;
        p1 += m1.pull;
        p2 += m2.pull;
        p3 += m3.pull;
        p[j] += (m0.pull + m1.pull) + (m2.pull + m3.pull);
    }
    const double pulls[4] = {p0, p1, p2, p3};
    for (Index r = 0; r < n_rows; ++r) pull[i + r] -= pulls[r];
    return loss;
}

// Return the loss of all pairs within a leaf and add their pull.
template <class Kind>
inline double meet_leaf(Kind kind, View<const double> values, View<const std::int32_t> run_end, Step leaf,
                        View<double> own, View<double> own_pull, View<double> pull) {
    const Index n = leaf.size();
    std::copy_n(values.slice(leaf.start, leaf.stop).begin(), n, own.begin());
    own.slice(n, n + PAD).fill(-INFINITE);
    own_pull.slice(0, n + PAD).fill(0.0);
    double loss = 0.0;
    each_group(
        run_end.slice(leaf.start, leaf.stop), leaf.start, 0, n, 4,
        [&](Index i, Index first, Index last) {
            const Cut cut = kind.cut(own[i]);
            for (Index j = first; j < last; ++j) {
                const Met met = kind.meet(own[j], cut);
                loss += met.loss;
                own_pull[i] -= met.pull;
                own_pull[j] += met.pull;
            }
        },
        [&](Index i, Index n_rows, Index first, Index last) {
            loss += meet_rows(kind, own, own_pull, i, n_rows, first, padded(first, last));
        });
    for (Index k = 0; k < n; ++k) pull[leaf.start + k] += own_pull[k];
    return Kind::unit * loss;
}

// ---- crossings: add the results of a walk to the pull and return the loss

inline double collect(Hinge, View<const double>, View<const std::int32_t> places, Step step, const Walk& walk, const Walk&,
                      View<double> pull) {
    double loss = 0.0;
    for (Index k = 0; k < step.n_better(); ++k) pull[places[step.start + k]] -= walk.better_count[k + 1];
    for (Index k = 0; k < step.n_worse(); ++k) {
        pull[places[step.middle + k]] += walk.worse_count[k + 1];
        loss += walk.worse_gap[k + 1];
    }
    return loss;
}

inline double collect(SquaredHinge, View<const double>, View<const std::int32_t> places, Step step, const Walk& walk,
                      const Walk&, View<double> pull) {
    double loss = 0.0;
    for (Index k = 0; k < step.n_better(); ++k) pull[places[step.start + k]] -= walk.better_gap[k + 1];
    for (Index k = 0; k < step.n_worse(); ++k) {
        pull[places[step.middle + k]] += walk.worse_gap[k + 1];
        loss += walk.worse_square[k + 1];
    }
    return loss;
}

// A few pairs within the width are summed one by one. The difference of the two walks is the same sum, but for a small
// width it is the difference of nearly equal numbers.
inline double collect(Ramp kind, View<const double> values, View<const std::int32_t> places, Step step, const Walk& walk,
                      const Walk& second, View<double> pull) {
    double loss = 0.0;
    for (Index k = 0; k < step.n_better(); ++k)
        pull[places[step.start + k]] -= walk.better_count[k + 1] - second.better_count[k + 1];
    for (Index k = 0; k < step.n_worse(); ++k) {
        const Index beyond = second.worse_count[k + 1], inside = walk.worse_count[k + 1] - beyond;
        pull[places[step.middle + k]] += static_cast<double>(inside);
        if (inside > FEW) {
            loss += walk.worse_gap[k + 1] - second.worse_gap[k + 1];
            continue;
        }
        const double at = values[step.middle + k] + 1.0;
        loss += kind.width * static_cast<double>(beyond);
        for (Index p = step.start + beyond; p < step.start + beyond + inside; ++p)
            loss += std::min(at - values[p], kind.width);
    }
    return loss;
}

// As for the ramp; pairs within the width are on the parabola.
inline double collect(Bend kind, View<const double> values, View<const std::int32_t> places, Step step, const Walk& walk,
                      const Walk& second, View<double> pull) {
    double loss = 0.0;
    for (Index k = 0; k < step.n_better(); ++k) {
        const Index beyond = second.better_count[k + 1], inside = walk.better_count[k + 1] - beyond;
        double bent = walk.better_gap[k + 1] - second.better_gap[k + 1];
        if (inside <= FEW) {
            const double at = values[step.start + k] - 1.0;
            bent = kind.width * static_cast<double>(beyond);
            for (Index p = step.stop - beyond - inside; p < step.stop - beyond; ++p)
                bent += std::min(values[p] - at, kind.width);
        }
        pull[places[step.start + k]] -= bent;
    }
    for (Index k = 0; k < step.n_worse(); ++k) {
        const Index beyond = second.worse_count[k + 1], inside = walk.worse_count[k + 1] - beyond;
        double bent = walk.worse_gap[k + 1] - second.worse_gap[k + 1];
        if (inside > FEW) {
            loss += walk.worse_square[k + 1] - second.worse_square[k + 1];
        } else {
            const double at = values[step.middle + k] + 1.0;
            bent = kind.width * static_cast<double>(beyond);
            loss += kind.width * (second.worse_gap[k + 1] + 0.5 * bent);
            for (Index p = step.start + beyond; p < step.start + beyond + inside; ++p) {
                const double z = std::min(at - values[p], kind.width);
                bent += z;
                loss += 0.5 * z * z;
            }
        }
        pull[places[step.middle + k]] += bent;
    }
    return loss;
}

// ---- queries

template <class Kind>
class PairSums {  // work space for queries of up to `longest` documents, those that are sorted of up to `longest_sorted`
public:
    PairSums(Kind kind, Index longest, Index longest_sorted)
        : kind(kind), values(longest), pull(longest), own(longest + PAD), own_pull(longest + PAD), sorted(longest_sorted),
          walk(longest_sorted), second(Kind::has_width ? longest_sorted : 0) {}
    PairSums(Kind kind, const PairPlan& plan, Index first, Index last)
        : PairSums(kind, plan.longest(first, last), plan.longest_sorted(first, last)) {}

    // Return the loss of a query times a weight, and compute the slope of its documents.
    double evaluate(const QueryPairs& pairs, double weight, View<const double> scores, View<double> slope) const {
        pull.slice(0, pairs.n_docs()).fill(0.0);
        double loss = 0.0;
        if (weight > 0.0) {
            if (!load(scores, pairs.rows, values)) weight = std::numeric_limits<double>::quiet_NaN();
            for (Index s = 0; s < pairs.n_steps(); ++s)
                loss += take(pairs.step(s), pairs.run_end, s == pairs.n_steps() - 1);
        }
        put(weight, pull, pairs.rows, slope);
        return weight * loss;
    }

private:
    double take(Step step, View<const std::int32_t> run_end, bool is_whole) const {  // nothing is sorted after the whole
        double loss;
        if (step.is_leaf()) {
            loss = meet_leaf(kind, values, run_end, step, own, own_pull, pull);
            if (!is_whole) sorted.sort_leaf(values, step);
        } else {
            sorted.take_walk(step, 1.0, walk);
            if constexpr (Kind::has_width) sorted.take_walk(step, 1.0 - kind.width, second);
            loss = collect(kind, sorted.values, sorted.places, step, walk, second, pull);
            if (!is_whole) sorted.merge(step);
        }
        return loss;
    }

    Kind kind;
    Scratch<double> values, pull, own, own_pull;
    SortedHalves sorted;
    Walk walk, second;
};

// The loss of queries first to last and the slope of their documents, times the queries' weights.
template <class Kind>
inline void pair_sums(Kind kind, const PairPlan& plan, View<const double> weights, View<const double> scores,
                      View<double> slope, View<double> losses, Index first, Index last) {
    const PairSums<Kind> sums(kind, plan, first, last);
    for (Index q = first; q < last; ++q) losses[q] = sums.evaluate(plan.query(q), weights[q], scores, slope);
}

}  // namespace plackett
