// Metrics of approximate ranks (Qin et al. 2010): r_i = 1 + Σ_{j ≠ i} p_ij, p_ij = 1 / (1 + e^{a (f_i − f_j)}).
//
// A measure gives the loss and its derivative c_i by the ranks of the documents that it counts, which come first here;
// for others c = 0. With w_ij = p_ij p_ji the slope is a Σ_j (c_j − c_i) w_ij. Both sums are over the pairs with at least
// one counted document, each computed once per sum, with O(n) memory.
#pragma once
#include <cmath>

#include "core/lists.hpp"
#include "core/vector_ops.hpp"
#include "losses/loss.hpp"

namespace plackett {

namespace approximate_ranks {

constexpr double WIDEST = 600.0;   // up to this range of a · f the exponentials of single documents do not underflow
constexpr double LOWEST = -1e300;  // differences of a · f do not overflow

struct Shares {
    double below, above;  // p_ij and p_ji
};

// p from exponentials of single documents: one division per pair.
struct NearPairs {
    View<const double> powers;

    PLACKETT_INLINE Shares operator()(double own, double other) const {
        const double inverse = 1.0 / (own + other);
        return {other * inverse, own * inverse};
    }
};

// p from differences, for any range of scores.
struct FarPairs {
    View<const double> powers;  // a · f

    PLACKETT_INLINE Shares operator()(double own, double other) const {
        const double gap = own - other, small = exp(-std::abs(gap)), large = 1.0 / (1.0 + small);
        return {gap > 0.0 ? small * large : large, gap > 0.0 ? large : small * large};
    }
};

// The ranks of the first `n_counted` documents; others are work space.
template <class Pairs>
void add_up(const Pairs& shares, Index n_counted, View<double> ranks) {
    const auto powers = shares.powers;
    ranks.fill(1.0);
    for (Index i = 0; i < n_counted; ++i) {
        const double own = powers[i];
        double rank = 0.0;
#pragma omp simd reduction(+ : rank)
        for (Index j = i + 1; j < powers.size; ++j) {
            const Shares pair = shares(own, powers[j]);
            rank += pair.below;
            ranks[j] += pair.above;
        }
        ranks[i] += rank;
    }
}

// Σ_j (c_j − c_i) w_ij of every document, c being 0 from `n_counted` on.
template <class Pairs>
void pull_back(const Pairs& shares, Index n_counted, View<const double> by_rank, View<double> slope) {
    const auto powers = shares.powers;
    slope.fill(0.0);
    for (Index i = 0; i < n_counted; ++i) {
        const double own = powers[i], pull = by_rank[i];
        double total = 0.0;
#pragma omp simd reduction(+ : total)
        for (Index j = i + 1; j < powers.size; ++j) {
            const Shares pair = shares(own, powers[j]);
            const double change = (pull - by_rank[j]) * (pair.below * pair.above);
            total += change;
            slope[j] += change;
        }
        slope[i] -= total;
    }
}

// Σ_j |c_j − c_i| w_ij, likewise.
template <class Pairs>
void add_sizes(const Pairs& shares, Index n_counted, View<const double> by_rank, View<double> sizes) {
    const auto powers = shares.powers;
    sizes.fill(0.0);
    for (Index i = 0; i < n_counted; ++i) {
        const double own = powers[i], pull = by_rank[i];
        double total = 0.0;
#pragma omp simd reduction(+ : total)
        for (Index j = i + 1; j < powers.size; ++j) {
            const Shares pair = shares(own, powers[j]);
            const double size = std::abs(pull - by_rank[j]) * (pair.below * pair.above);
            total += size;
            sizes[j] += size;
        }
        sizes[i] += total;
    }
}

// −Σ G / log2(1 + r).
struct DiscountedGain {
    static bool counts(double gain, double /*score*/, double /*best*/) { return gain != 0.0; }

    double operator()(View<const double> gains, View<double> ranks) const {
        constexpr double LOG_OF_2 = 0.69314718055994530942;
        double loss = 0.0;
        for (Index i = 0; i < gains.size; ++i) {
            const double log = std::log1p(ranks[i]), gain = gains[i] * LOG_OF_2 / log;
            loss -= gain;
            ranks[i] = gain / (log * (1.0 + ranks[i]));
        }
        return loss;
    }
};

// −1 / r of the relevant document with the highest score; the mean over several.
struct ReciprocalRank {
    static bool counts(double gain, double score, double best) { return gain > 0.0 && score == best; }

    double operator()(View<const double> gains, View<double> ranks) const {
        const double share = 1.0 / static_cast<double>(gains.size);
        double loss = 0.0;
        for (Index i = 0; i < gains.size; ++i) {
            const double reciprocal = 1.0 / ranks[i];
            loss -= share * reciprocal;
            ranks[i] = share * reciprocal * reciprocal;
        }
        return loss;
    }
};

// −1/m Σ_i (1 + Σ_{j ≠ i} h_ij) / r_i over the m relevant documents, h_ij = 1 / (1 + e^{b (r_j − r_i)}): j is before i.
struct AveragePrecision {
    double b;

    static bool counts(double gain, double /*score*/, double /*best*/) { return gain > 0.0; }

    double operator()(View<const double> gains, View<double> ranks) const {
        const Index n = gains.size;
        const double share = 1.0 / static_cast<double>(n);
        const Scratch<double> before(n, 1.0), by_rank(n, 0.0);
        const FarPairs shares{ranks};
        for (Index i = 0; i < n; ++i) {
            const double rank = b * ranks[i], own = 1.0 / ranks[i];
            double found = 0.0, change = 0.0;
#pragma omp simd reduction(+ : found, change)
            for (Index j = i + 1; j < n; ++j) {
                const Shares pair = shares(rank, b * ranks[j]);  // below: i is before j
                found += pair.above;
                before[j] += pair.below;
                // the derivatives of h_ij by r_i and of h_ji by r_j are b times this
                const double bend = pair.below * pair.above * (own - 1.0 / ranks[j]);
                change += bend;
                by_rank[j] += bend;
            }
            before[i] += found;
            by_rank[i] -= change;
        }
        double loss = 0.0;
        for (Index i = 0; i < n; ++i) {
            const double precision = before[i] / ranks[i];
            loss -= share * precision;
            ranks[i] = share * (precision / ranks[i] + b * by_rank[i]);
        }
        return loss;
    }
};

}  // namespace approximate_ranks

template <class Measure>
class ApproximateRanks final : public Loss {
public:
    ApproximateRanks(View<const Index> bounds, View<const double> gains, double a, Measure measure)
        : bounds(bounds), gains(gains), a(a), measure(measure) {}

    View<const Index> indptr() const override { return bounds; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        values.slice(first, last).fill(0.0);
        slope.slice(bounds[first], bounds[last]).fill(0.0);
        with_ranks(scores, first, last, [&](Index q, double loss, auto shares, auto n_counted, auto by_rank, auto rows) {
            values[q] = loss;
            const Scratch<double> pulls(rows.size);
            approximate_ranks::pull_back(shares, n_counted, by_rank, pulls);
            put(a, pulls, rows, slope.slice(bounds[q], bounds[q + 1]));
        });
    }

    // An estimate that is never negative, as of logistic pairs: half of a² Σ_j |c_j − c_i| w_ij. The exact one has other
    // factors of at most 1, of any sign.
    void diagonal(View<const double> scores, View<double> diagonal, Index first, Index last) const override {
        diagonal.slice(bounds[first], bounds[last]).fill(0.0);
        with_ranks(scores, first, last, [&](Index q, double, auto shares, auto n_counted, auto by_rank, auto rows) {
            const Scratch<double> sizes(rows.size);
            approximate_ranks::add_sizes(shares, n_counted, by_rank, sizes);
            put(0.5 * a * a, sizes, rows, diagonal.slice(bounds[q], bounds[q + 1]));
        });
    }

private:
    View<const Index> bounds;
    View<const double> gains;
    double a;
    Measure measure;

    // Rows of one list, the counted ones first; their number.
    static Index counted_first(View<const double> scores, View<const double> gains, View<Index> rows) {
        double best = -std::numeric_limits<double>::infinity();
        for (Index i = 0; i < gains.size; ++i)
            if (gains[i] > 0.0) best = std::max(best, scores[i]);
        Index front = 0, back = gains.size;
        for (Index i = 0; i < gains.size; ++i)
            (Measure::counts(gains[i], scores[i], best) ? rows[front++] : rows[--back]) = i;
        return front;
    }

    // Call work(query, loss, pairs, number of counted documents, derivatives by the ranks, rows) for each query with
    // counted documents.
    template <class Work>
    void with_ranks(View<const double> scores, Index first, Index last, Work work) const {
        using namespace approximate_ranks;
        const Index longest = longest_list(bounds, first, last);
        const Scratch<double> powers(longest), ranks(longest), weights(longest);
        const Scratch<Index> all_rows(longest);
        for (Index q = first; q < last; ++q) {
            const Index n = bounds[q + 1] - bounds[q];
            const auto here = scores.slice(bounds[q], bounds[q + 1]), worth = gains.slice(bounds[q], bounds[q + 1]);
            const auto rows = all_rows.slice(0, n);
            const Index n_counted = counted_first(here, worth, rows);
            if (n_counted == 0) continue;
            const auto own = powers.slice(0, n), by_rank = ranks.slice(0, n), counted = weights.slice(0, n_counted);
            const auto [low, top] = range_of(here);
            for (Index i = 0; i < n; ++i) own[i] = std::max(a * (here[rows[i]] - top), LOWEST);
            for (Index i = 0; i < n_counted; ++i) counted[i] = worth[rows[i]];
            const auto run = [&](const auto& shares) {
                add_up(shares, n_counted, by_rank);
                const double loss = measure(counted, by_rank.slice(0, n_counted));
                by_rank.slice(n_counted, n).fill(0.0);
                work(q, loss, shares, n_counted, View<const double>(by_rank), View<const Index>(rows));
            };
            if (a * (top - low) <= WIDEST) {
                exp_below(own, 0.0, own);
                run(NearPairs{own});
            } else {
                run(FarPairs{own});
            }
        }
    }
};

inline Loss* make_approx_ndcg(View<const Index> indptr, View<const double> gains, double a) {
    return new ApproximateRanks(indptr, gains, a, approximate_ranks::DiscountedGain{});
}

inline Loss* make_approx_mrr(View<const Index> indptr, View<const double> gains, double a) {
    return new ApproximateRanks(indptr, gains, a, approximate_ranks::ReciprocalRank{});
}

inline Loss* make_approx_map(View<const Index> indptr, View<const double> gains, double a, double b) {
    return new ApproximateRanks(indptr, gains, a, approximate_ranks::AveragePrecision{b});
}

}  // namespace plackett
