// The logistic loss of pairs, log(1 + e^(-sigma m)), which enumerates all pairs of a query.
//
// Scores are multiplied by sigma first; sigma is 1 in the following.
//
// A pair costs log(1 + r) with r = e^(f_j - f_i) = up_j * down_i. The factors 1 + r are multiplied, minus 1 so that small r
// keep their precision: `excess`, one product per worse document, whose logarithm is taken before it can overflow. The
// reciprocals of four factors cost one division, or two if that saves more products. If the range of scores is wider than
// TIGHT, so that four factors may overflow, each pair takes an exponential: log(1 + e^-m) = max(-m, 0) + log(1 + w)
// with w = e^-|m|.
#pragma once
#include "losses/pairwise/score_exponentials.hpp"

namespace plackett {

constexpr double TIGHT = 160.0;
constexpr double LARGEST_LOG = 700.0;  // of a product of factors 1 + r
constexpr Index BLOCK = 2048;          // partners per block, so that they stay in the fastest cache

// Return the summed logarithms of 1 + excess and reset the products.
inline double take_logs(View<double> excess) {
    double* e = excess.data;
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Index j = 0; j < excess.size; ++j) {
        const double whole = 1.0 + e[j];
        total += log(whole) + (e[j] - (whole - 1.0)) / whole;  // the second term is the rounding error of the addition
        e[j] = 0.0;
    }
    return total;
}

class LogisticPairs {  // work space for queries of up to `longest` documents
public:
    explicit LogisticPairs(Index longest, double sigma = 1.0)
        : sigma(sigma), f(longest + PAD), up(longest + PAD), down(longest + PAD), along(longest + PAD), excess(longest + PAD),
          out(longest + PAD) {}

    // The loss of a query times a weight, and the slope of its documents.
    double evaluate(const QueryPairs& pairs, double weight, View<const double> scores, View<double> slope) const {
        const Index n = pairs.n_docs();
        out.slice(0, n + PAD).fill(0.0);
        excess.slice(0, n + PAD).fill(0.0);
        double loss = 0.0;
        if (weight > 0.0) {
            const double range = prepare(pairs, scores);
            const bool is_wide = !is_tight(range);
            const Index most = is_wide ? 1 : 4;
            const double factor = (is_wide ? 0.0 : range) + 0.7;  // at least log(1 + r) of any pair
            const auto n_groups = static_cast<Index>(LARGEST_LOG / (factor * static_cast<double>(most)));
            for (Index block = 0; block < n; block += BLOCK) {
                const Index stop = std::min(block + BLOCK, n);
                Index n_multiplied = 0;
                const auto row = [&](Index i, Index first, Index last) { loss += meet_far(i, first, last); };
                const auto group = [&](Index i, Index n_rows, Index first, Index last) {
                    if (is_wide)
                        loss += meet_far(i, first, last);
                    else
                        meet_four(i, n_rows, first, last == n ? padded(first, last) : last);
                    if (++n_multiplied % n_groups == 0) loss += take_logs(excess.slice(block, stop));
                };
                each_group(pairs.run_end, 0, block, stop, most, row, group);
                loss += take_logs(excess.slice(block, stop));
            }
        }
        put(sigma * weight, out, pairs.rows, slope);
        return weight * loss;
    }

    // The second derivative of a query's loss times a weight, times a direction: Σ c (t_i - t_j), c being a pair's own
    // second derivative, r / (1 + r)². Without a direction: its diagonal, Σ c.
    template <bool is_diagonal>
    void multiply(const QueryPairs& pairs, double weight, View<const double> scores, View<const double> direction,
                  View<double> product) const {
        const Index n = pairs.n_docs();
        out.slice(0, n + PAD).fill(0.0);
        if (weight > 0.0) {
            const bool is_wide = !is_tight(prepare(pairs, scores));
            if constexpr (!is_diagonal) take(direction, pairs.rows, along);
            along.slice(n, n + PAD).fill(0.0);
            for (Index block = 0; block < n; block += BLOCK) {
                const Index stop = std::min(block + BLOCK, n);
                const auto row = [&](Index i, Index first, Index last) { bend_far<is_diagonal>(i, first, last); };
                const auto group = [&](Index i, Index n_rows, Index first, Index last) {
                    if (is_wide)
                        bend_far<is_diagonal>(i, first, last);
                    else
                        bend_four<is_diagonal>(i, n_rows, first, last == n ? padded(first, last) : last);
                };
                each_group(pairs.run_end, 0, block, stop, is_wide ? 1 : 4, row, group);
            }
        }
        put(sigma * sigma * weight, out, pairs.rows, product);
    }

private:
    static bool is_tight(double range) { return range >= 0.0 && range <= TIGHT; }  // false if no score is a number

    // Exponentials of one query, followed by padding that is never a partner. Return the range of the scores.
    double prepare(const QueryPairs& pairs, View<const double> scores) const {
        const Index n = pairs.n_docs();
        auto [middle, range] = gather(scores, pairs.rows, f);
        if (sigma != 1.0) {
            centre(f.slice(0, n), middle);
            for (double& value : f.slice(0, n)) value *= sigma;
            middle = 0.0;
            range *= sigma;
        }
        if (is_tight(range))
            exponentials(f.slice(0, n), middle, up, down);
        else
            centre(f.slice(0, n), middle);
        up.slice(n, n + PAD).fill(0.0);
        return range;
    }

    // n_rows better documents from i on against places first:last.
    void meet_four(Index i, Index n_rows, Index first, Index last) const {
        double downs[4];
        take_four(downs, i, n_rows, 0.0, [&](Index k) { return down[k]; });
        const double d0 = downs[0], d1 = downs[1], d2 = downs[2], d3 = downs[3];
        const double* u = up.view().data;
        double *e = excess.view().data, *pull = out.view().data;
        double p0 = 0.0, p1 = 0.0, p2 = 0.0, p3 = 0.0;
#pragma omp simd reduction(+ : p0, p1, p2, p3)
        for (Index j = first; j < last; ++j) {
            const double r0 = u[j] * d0, r1 = u[j] * d1, r2 = u[j] * d2, r3 = u[j] * d3;
            const double both01 = r0 * r1, both23 = r2 * r3;
            const double e01 = both01 + (r0 + r1), e23 = both23 + (r2 + r3), all = e01 * e23 + (e01 + e23);
            const double inverse = 1.0 / (1.0 + all);
            const double i01 = inverse + inverse * e23, i23 = inverse + inverse * e01;
            e[j] = e[j] * all + (e[j] + all);
            p0 += i01 * (r0 + both01);  // r0 / (1 + r0), as a product that is fused with the sum
            p1 += i01 * (r1 + both01);
            p2 += i23 * (r2 + both23);
            p3 += i23 * (r3 + both23);
            pull[j] += i01 * (e01 + both01) + i23 * (e23 + both23);
        }
        const double pulls[4] = {p0, p1, p2, p3};
        for (Index r = 0; r < n_rows; ++r) out[i + r] -= pulls[r];
    }

    // One better document against places first:last, with an exponential for each pair, for any range of scores. Return the
    // summed positive parts.
    double meet_far(Index i, Index first, Index last) const {
        const double* x = f.view().data;
        double *e = excess.view().data, *pull = out.view().data;
        const double at = x[i];
        double positive = 0.0, drawn = 0.0;
#pragma omp simd reduction(+ : positive, drawn)
        for (Index j = first; j < last; ++j) {
            const double above = x[j] - at;
            const double w = exp(above > 0.0 ? -above : above);
            const double q = (above > 0.0 ? 1.0 : w) / (1.0 + w);
            positive += above > 0.0 ? above : 0.0;
            e[j] = e[j] * w + (e[j] + w);
            drawn += q;
            pull[j] += q;
        }
        out[i] -= drawn;
        return positive;
    }

    template <bool is_diagonal>
    void bend_four(Index i, Index n_rows, Index first, Index last) const {
        double downs[4], own[4];
        take_four(downs, i, n_rows, 0.0, [&](Index k) { return down[k]; });
        take_four(own, i, n_rows, 0.0, [&](Index k) { return is_diagonal ? 0.0 : along[k]; });
        const double d0 = downs[0], d1 = downs[1], d2 = downs[2], d3 = downs[3];
        const double t0 = own[0], t1 = own[1], t2 = own[2], t3 = own[3];
        const double *u = up.view().data, *t = along.view().data;
        double* o = out.view().data;
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (Index j = first; j < last; ++j) {
            const double r0 = u[j] * d0, r1 = u[j] * d1, r2 = u[j] * d2, r3 = u[j] * d3;
            const double i01 = 1.0 / ((1.0 + r0) * (1.0 + r1)), i23 = 1.0 / ((1.0 + r2) * (1.0 + r3));
            const double q0 = i01 * (1.0 + r1), q1 = i01 * (1.0 + r0), q2 = i23 * (1.0 + r3), q3 = i23 * (1.0 + r2);
            double c0 = r0 * q0 * q0, c1 = r1 * q1 * q1, c2 = r2 * q2 * q2, c3 = r3 * q3 * q3;
            if constexpr (is_diagonal) {
                o[j] += (c0 + c1) + (c2 + c3);
            } else {
                c0 *= t0 - t[j], c1 *= t1 - t[j], c2 *= t2 - t[j], c3 *= t3 - t[j];
                o[j] -= (c0 + c1) + (c2 + c3);
            }
            s0 += c0;
            s1 += c1;
            s2 += c2;
            s3 += c3;
        }
        const double sums[4] = {s0, s1, s2, s3};
        for (Index r = 0; r < n_rows; ++r) out[i + r] += sums[r];
    }

    template <bool is_diagonal>
    void bend_far(Index i, Index first, Index last) const {
        const double *x = f.view().data, *t = along.view().data;
        double* o = out.view().data;
        const double at = x[i], own = is_diagonal ? 0.0 : t[i];
        double total = 0.0;
#pragma omp simd reduction(+ : total)
        for (Index j = first; j < last; ++j) {
            const double above = x[j] - at, w = exp(above > 0.0 ? -above : above), q = 1.0 / (1.0 + w);
            const double c = is_diagonal ? w * q * q : w * q * q * (own - t[j]);
            total += c;
            o[j] += is_diagonal ? c : -c;
        }
        out[i] += total;
    }

    double sigma;
    Scratch<double> f, up, down, along, excess, out;
};

// The logistic loss of queries first to last and the slope of their documents, times the queries' weights.
inline void logistic(const PairPlan& plan, View<const double> weights, View<const double> scores, View<double> slope,
                     View<double> losses, Index first, Index last, double sigma = 1.0) {
    const LogisticPairs pairs(plan.longest(first, last), sigma);
    for (Index q = first; q < last; ++q) losses[q] = pairs.evaluate(plan.query(q), weights[q], scores, slope);
}

// Its second derivative times a direction.
inline void logistic_product(const PairPlan& plan, View<const double> weights, View<const double> scores,
                             View<const double> direction, View<double> product, Index first, Index last,
                             double sigma = 1.0) {
    const LogisticPairs pairs(plan.longest(first, last), sigma);
    for (Index q = first; q < last; ++q) pairs.multiply<false>(plan.query(q), weights[q], scores, direction, product);
}

// The diagonal of its second derivative, times a number.
inline void logistic_diagonal(const PairPlan& plan, View<const double> weights, View<const double> scores,
                              View<double> diagonal, double times, Index first, Index last, double sigma = 1.0) {
    const LogisticPairs pairs(plan.longest(first, last), sigma);
    for (Index q = first; q < last; ++q) pairs.multiply<true>(plan.query(q), times * weights[q], scores, scores, diagonal);
}

}  // namespace plackett
