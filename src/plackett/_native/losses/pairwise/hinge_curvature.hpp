// Second derivatives of the hinge losses: the active pairs are found once and used by many products.
//
// The second derivative of the squared hinge is a constant times D - A: A is the adjacency matrix of the active pairs,
// those with z > 0, and D has their number for each document. For the bent hinge the active pairs are those on the
// parabola, 0 < z <= w. Crossings keep the sorted order of both halves and, for each document, the range of its active
// partners in the other half. A product is then one running sum per half and two look-ups per document, without a
// branch. Pairs within leaves are enumerated, as in hinge_sums.hpp.
#pragma once
#include "losses/pairwise/merge.hpp"
#include "losses/pairwise/enumeration.hpp"

namespace plackett {

// The active pairs of queries first to last at some scores. Documents are in label order: their scores, and their
// numbers of active pairs. A crossing's entries are its documents in sorted order: their `places` in the query, and
// their active range in the other half, from `begins` to `ends` (which only kinds with a width need).
struct ActivePairs {
    ActivePairs(const PairPlan& plan, Index first, Index last, bool has_width)
        : first_place(plan.indptr[first]), first_stored(plan.stored(first, last).first),
          values(plan.indptr[last] - first_place), counts(plan.indptr[last] - first_place),
          places(plan.stored(first, last).second - first_stored), begins(plan.stored(first, last).second - first_stored),
          ends(has_width ? plan.stored(first, last).second - first_stored : 0) {}

    Index first_place, first_stored;
    Scratch<double> values, counts;
    Scratch<std::int32_t> places, begins, ends;

    View<double> of_query(const Scratch<double>& docs, const PairPlan& plan, Index q) const {
        return docs.slice(plan.indptr[q] - first_place, plan.indptr[q + 1] - first_place);
    }
    View<std::int32_t> of_better(const Scratch<std::int32_t>& entries, Step step) const {
        return entries.slice(step.store - first_stored, step.store - first_stored + step.n_better());
    }
    View<std::int32_t> of_worse(const Scratch<std::int32_t>& entries, Step step) const {
        return entries.slice(step.store - first_stored + step.n_better(), step.store - first_stored + step.size());
    }
};

// Add A times the direction for n_rows better documents from i on and places first:last, on both sides.
template <class Kind>
inline void join_rows(Kind kind, View<const double> values, View<const double> direction, View<double> out, Index i,
                          Index n_rows, Index first, Index last) {
    Cut cuts[4];
    double own[4];
    take_four(cuts, i, n_rows, NOWHERE, [&](Index k) { return kind.cut(values[k]); });
    take_four(own, i, n_rows, 0.0, [&](Index k) { return direction[k]; });
    const Cut c0 = cuts[0], c1 = cuts[1], c2 = cuts[2], c3 = cuts[3];
    const double d0 = own[0], d1 = own[1], d2 = own[2], d3 = own[3];
    check_slice(first, last, values.size);
    const double *x = values.data, *d = direction.data;
    double* o = out.data;
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (Index j = first; j < last; ++j) {
        s0 += kind.if_active(x[j], c0, d[j]);
        s1 += kind.if_active(x[j], c1, d[j]);
        s2 += kind.if_active(x[j], c2, d[j]);
        s3 += kind.if_active(x[j], c3, d[j]);
        o[j] += (kind.if_active(x[j], c0, d0) + kind.if_active(x[j], c1, d1)) +
                (kind.if_active(x[j], c2, d2) + kind.if_active(x[j], c3, d3));
    }
    const double sums[4] = {s0, s1, s2, s3};
    for (Index r = 0; r < n_rows; ++r) out[i + r] += sums[r];
}

// Prefix sums of both halves, interleaved because each sum depends on the one before.
inline void running_sums(View<const double> direction, View<const std::int32_t> of_better,
                         View<const std::int32_t> of_worse, View<double> better, View<double> worse) {
    double sum_better = 0.0, sum_worse = 0.0;
    better[0] = worse[0] = 0.0;
    const Index n_both = std::min(of_better.size, of_worse.size);
    for (Index k = 0; k < n_both; ++k) {
        better[k + 1] = sum_better += direction[of_better[k]];
        worse[k + 1] = sum_worse += direction[of_worse[k]];
    }
    for (Index k = n_both; k < of_better.size; ++k) better[k + 1] = sum_better += direction[of_better[k]];
    for (Index k = n_both; k < of_worse.size; ++k) worse[k + 1] = sum_worse += direction[of_worse[k]];
}

template <class Kind>
class LeafProduct {  // work space for leaves of up to `longest` documents
public:
    LeafProduct(Kind kind, Index longest)
        : kind(kind), own(longest + PAD), own_direction(longest + PAD), own_out(longest + PAD) {}

    // Add A times the direction for the pairs within a leaf.
    void add(View<const double> values, View<const std::int32_t> run_end, Step leaf, View<const double> direction,
             View<double> out) const {
        const Index n = leaf.size();
        if (run_end[leaf.start] >= leaf.stop) return;
        std::copy_n(values.slice(leaf.start, leaf.stop).begin(), n, own.view().begin());
        std::copy_n(direction.slice(leaf.start, leaf.stop).begin(), n, own_direction.view().begin());
        own.slice(n, n + PAD).fill(-INFINITE);
        own_direction.slice(n, n + PAD).fill(0.0);
        own_out.slice(0, n + PAD).fill(0.0);
        each_group(
            run_end.slice(leaf.start, leaf.stop), leaf.start, 0, n, 4,
            [&](Index i, Index first, Index last) {
                const Cut cut = kind.cut(own[i]);
                for (Index j = first; j < last; ++j) {
                    own_out[i] += kind.if_active(own[j], cut, own_direction[j]);
                    own_out[j] += kind.if_active(own[j], cut, own_direction[i]);
                }
            },
            [&](Index i, Index n_rows, Index first, Index last) {
                join_rows(kind, own, own_direction, own_out, i, n_rows, first, padded(first, last));
            });
        for (Index k = 0; k < n; ++k) out[leaf.start + k] += own_out[k];
    }

private:
    Kind kind;
    Scratch<double> own, own_direction, own_out;
};

// Find the active pairs of queries first to last at these scores.
template <class Kind>
inline void find_active(Kind kind, const PairPlan& plan, View<const double> scores, const ActivePairs& found, Index first,
                        Index last) {
    const Index longest = plan.longest(first, last), longest_sorted = plan.longest_sorted(first, last);
    const Scratch<double> ones(longest, 1.0);
    const LeafProduct<Kind> leaves(kind, longest);
    const SortedHalves sorted(longest_sorted);
    const Walk walk(longest_sorted);
    for (Index q = first; q < last; ++q) {
        const QueryPairs pairs = plan.query(q);
        const View<double> values = found.of_query(found.values, plan, q), counts = found.of_query(found.counts, plan, q);
        load(scores, pairs.rows, values);
        counts.fill(0.0);
        for (Index s = 0; s < pairs.n_steps(); ++s) {
            const Step step = pairs.step(s);
            const bool is_whole = s == pairs.n_steps() - 1;
            if (step.is_leaf()) {
                leaves.add(values, pairs.run_end, step, ones, counts);
                if (!is_whole) sorted.sort_leaf(values, step);
                continue;
            }
            const View<const std::int32_t> of_better = sorted.places.slice(step.start, step.middle);
            const View<const std::int32_t> of_worse = sorted.places.slice(step.middle, step.stop);
            std::copy_n(of_better.begin(), of_better.size, found.of_better(found.places, step).begin());
            std::copy_n(of_worse.begin(), of_worse.size, found.of_worse(found.places, step).begin());
            // the partners beyond a threshold are the last of the worse half and the first of the better one
            const auto find = [&](double threshold, double sign, const Scratch<std::int32_t>& kept) {
                sorted.take_walk(step, threshold, walk);
                const View<std::int32_t> of_better_kept = found.of_better(kept, step), of_worse_kept = found.of_worse(kept, step);
                for (Index k = 0; k < of_better.size; ++k) {
                    counts[of_better[k]] += sign * walk.better_count[k + 1];
                    of_better_kept[k] = static_cast<std::int32_t>(of_worse.size) - walk.better_count[k + 1];
                }
                for (Index k = 0; k < of_worse.size; ++k) {
                    counts[of_worse[k]] += sign * walk.worse_count[k + 1];
                    of_worse_kept[k] = walk.worse_count[k + 1];
                }
            };
            find(1.0, 1.0, found.begins);
            if constexpr (Kind::has_width) find(1.0 - kind.width, -1.0, found.ends);
            if (!is_whole) sorted.merge(step);
        }
    }
}

// Each query's weight times D - A, times the direction, for queries first to last.
template <class Kind>
inline void multiply_active(Kind kind, const PairPlan& plan, const ActivePairs& found, View<const double> weights,
                            View<const double> direction, View<double> product, Index first, Index last) {
    const Index longest = plan.longest(first, last);
    const Scratch<double> along(longest), out(longest), better(longest + 1), worse(longest + 1);
    const LeafProduct<Kind> leaves(kind, longest);
    for (Index q = first; q < last; ++q) {
        const QueryPairs pairs = plan.query(q);
        const View<double> values = found.of_query(found.values, plan, q), counts = found.of_query(found.counts, plan, q);
        take(direction, pairs.rows, along);
        out.slice(0, pairs.n_docs()).fill(0.0);
        for (Index s = 0; weights[q] > 0.0 && s < pairs.n_steps(); ++s) {
            const Step step = pairs.step(s);
            if (step.is_leaf()) {
                leaves.add(values, pairs.run_end, step, along, out);
                continue;
            }
            const auto of_better = found.of_better(found.places, step), of_worse = found.of_worse(found.places, step);
            const auto begin_better = found.of_better(found.begins, step), begin_worse = found.of_worse(found.begins, step);
            running_sums(along, of_better, of_worse, better, worse);
            if constexpr (Kind::has_width) {
                const auto end_better = found.of_better(found.ends, step), end_worse = found.of_worse(found.ends, step);
                for (Index k = 0; k < of_better.size; ++k)
                    out[of_better[k]] += worse[end_better[k]] - worse[begin_better[k]];
                for (Index k = 0; k < of_worse.size; ++k)
                    out[of_worse[k]] += better[begin_worse[k]] - better[end_worse[k]];
            } else {
                const double total = worse[step.n_worse()];
                for (Index k = 0; k < of_better.size; ++k) out[of_better[k]] += total - worse[begin_better[k]];
                for (Index k = 0; k < of_worse.size; ++k) out[of_worse[k]] += better[begin_worse[k]];
            }
        }
        for (Index k = 0; k < pairs.n_docs(); ++k)
            product[pairs.rows[k]] = weights[q] * (counts[k] * along[k] - out[k]);
    }
}

}  // namespace plackett
