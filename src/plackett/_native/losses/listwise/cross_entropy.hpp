// Cross entropies −Σ target · log softmax(f) of each query, for ListNet, the softmax loss and XE-NDCG.
#pragma once
#include <vector>

#include "core/lists.hpp"
#include "core/vector_ops.hpp"
#include "losses/loss.hpp"

namespace plackett {

struct SoftmaxParts {
    double top, total;  // the largest value, and the sum of the exponentials relative to it
};

// The softmax of one list.
inline SoftmaxParts softmax_of(View<const double> values, View<double> out) {
    const double top = largest_of(values);
    exp_below(values, top, out);
    const double total = sum_of(out), share = 1.0 / total;
#pragma omp simd
    for (Index i = 0; i < out.size; ++i) out[i] *= share;
    return {top, total};
}

// The softmax of each query.
inline void softmax(View<const double> values, View<const Index> indptr, View<double> out) {
    for (Index q = 0; q < indptr.size - 1; ++q)
        if (indptr[q] < indptr[q + 1])
            softmax_of(values.slice(indptr[q], indptr[q + 1]), out.slice(indptr[q], indptr[q + 1]));
}

// (diag(share) − share shareᵀ) direction of one list; `out` may be the shares.
inline void multiply_softmax(View<const double> share, View<const double> direction, View<double> out) {
    const double mean = inner_product(share, direction);
#pragma omp simd
    for (Index i = 0; i < out.size; ++i) out[i] = share[i] * (direction[i] - mean);
}

// The same for each query, for many products at the same scores.
inline void softmax_product(View<const double> share, View<const double> direction, View<const Index> indptr,
                            View<double> out) {
    for (Index q = 0; q < indptr.size - 1; ++q)
        multiply_softmax(share.slice(indptr[q], indptr[q + 1]), direction.slice(indptr[q], indptr[q + 1]),
                         out.slice(indptr[q], indptr[q + 1]));
}

// Targets are any real numbers. With T = Σ target the slope is T softmax(f) − target and the second derivative T times that
// of the log-sum, so that a query is convex iff T ≥ 0.
class CrossEntropy final : public Loss {
public:
    CrossEntropy(View<const Index> bounds, View<const double> target)
        : bounds(bounds), target(target), totals(static_cast<std::size_t>(bounds.size - 1)), sizes(totals.size()) {
        for (Index q = 0; q < bounds.size - 1; ++q) {
            const auto at = static_cast<std::size_t>(q);
            for (const double wanted : target.slice(bounds[q], bounds[q + 1])) {
                totals[at] += wanted;
                sizes[at] += std::abs(wanted);
            }
        }
    }

    View<const Index> indptr() const override { return bounds; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        for (Index q = first; q < last; ++q) {
            const auto here = scores.slice(bounds[q], bounds[q + 1]), wanted = target.slice(bounds[q], bounds[q + 1]);
            const auto pull = slope.slice(bounds[q], bounds[q + 1]);
            values[q] = 0.0;
            if (here.size == 0) continue;
            const auto softmax = softmax_of(here, pull);
            const double top = softmax.top, total = total_of(q);
            double below = 0.0;
#pragma omp simd reduction(+ : below)
            for (Index i = 0; i < here.size; ++i) {
                below += wanted[i] * (top - here[i]);
                pull[i] = total * pull[i] - wanted[i];
            }
            values[q] = total * std::log(softmax.total) + below;
        }
    }

    void multiply(View<const double> scores, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        for (Index q = first; q < last; ++q) {
            const auto out = shares_of(scores, product, q);
            multiply_softmax(out, direction.slice(bounds[q], bounds[q + 1]), out);
            scale(out, total_of(q));
        }
    }

    // Exact without negative targets, which make T small or negative while slopes are not. Σ |target| in the place of T is
    // positive.
    void diagonal(View<const double> scores, View<double> diagonal, Index first, Index last) const override {
        for (Index q = first; q < last; ++q) {
            const auto out = shares_of(scores, diagonal, q);
            const double size = sizes[static_cast<std::size_t>(q)];
            for (Index i = 0; i < out.size; ++i) out[i] *= size * (1.0 - out[i]);
        }
    }

    // T times the shares, whose diagonal minus their outer product is the second derivative of the log-sum; 0 if T < 0.
    void bound(View<const double> scores, View<double> limits, Index first, Index last) const override {
        for (Index q = first; q < last; ++q) {
            const auto out = shares_of(scores, limits, q);
            scale(out, out.size == 1 ? 0.0 : std::max(total_of(q), 0.0));
        }
    }

private:
    View<const Index> bounds;
    View<const double> target;
    std::vector<double> totals, sizes;  // Σ target and Σ |target| of each query

    double total_of(Index q) const { return totals[static_cast<std::size_t>(q)]; }

    static void scale(View<double> values, double factor) {
#pragma omp simd
        for (Index i = 0; i < values.size; ++i) values[i] *= factor;
    }

    View<double> shares_of(View<const double> scores, View<double> out, Index q) const {
        const auto here = out.slice(bounds[q], bounds[q + 1]);
        if (here.size > 0) softmax_of(scores.slice(bounds[q], bounds[q + 1]), here);
        return here;
    }
};

// Poly-1: the cross entropy plus ε (1 − p), where p is the mean share under the targets as probabilities. Targets are at
// least 0; if all are 0, they count as equal.
class PolyOne final : public Loss {
public:
    PolyOne(View<const Index> bounds, View<const double> target, double epsilon)
        : entropy(bounds, target), bounds(bounds), target(target), epsilon(epsilon) {}

    View<const Index> indptr() const override { return bounds; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        entropy.evaluate(scores, slope, values, first, last);
        const Scratch<double> room(longest_list(bounds, first, last));
        for (Index q = first; q < last; ++q) {
            const Targets of(*this, scores, room, q);
            if (of.share.size == 0) continue;
            const auto pull = slope.slice(bounds[q], bounds[q + 1]);
            for (Index i = 0; i < pull.size; ++i) pull[i] -= epsilon * of.share[i] * (of[i] - of.mean);
            values[q] += epsilon * (1.0 - of.mean);
        }
    }

    // Not exact, but at least the absolute value of the second derivative.
    void diagonal(View<const double> scores, View<double> diagonal, Index first, Index last) const override {
        entropy.diagonal(scores, diagonal, first, last);
        const Scratch<double> room(longest_list(bounds, first, last));
        for (Index q = first; q < last; ++q) {
            const Targets of(*this, scores, room, q);
            const auto out = diagonal.slice(bounds[q], bounds[q + 1]);
            for (Index i = 0; i < out.size; ++i)
                out[i] += epsilon * of.share[i] * std::abs((of[i] - of.mean) * (1.0 - 2.0 * of.share[i]));
        }
    }

private:
    const CrossEntropy entropy;
    View<const Index> bounds;
    View<const double> target;
    double epsilon;

    struct Targets {  // of one query, as probabilities
        View<const double> wanted;
        View<double> share;  // softmax of the scores
        double scale, rest, mean = 0.0;

        Targets(const PolyOne& loss, View<const double> scores, View<double> room, Index q)
            : wanted(loss.target.slice(loss.bounds[q], loss.bounds[q + 1])), share(room.slice(0, wanted.size)) {
            if (wanted.size > 0) softmax_of(scores.slice(loss.bounds[q], loss.bounds[q + 1]), share);
            const double total = sum_of(wanted);
            scale = total > 0.0 ? 1.0 / total : 0.0;
            rest = total > 0.0 ? 0.0 : 1.0 / static_cast<double>(wanted.size);
            for (Index i = 0; i < wanted.size; ++i) mean += (*this)[i] * share[i];
            if (total <= 0.0 || wanted.size == 1) mean = (*this)[0];  // without rounding: shares sum to 1
        }
        double operator[](Index i) const { return wanted.size > 0 ? wanted[i] * scale + rest : 0.0; }
    };
};

inline Loss* make_cross_entropy(View<const Index> indptr, View<const double> target) {
    return new CrossEntropy(indptr, target);
}

inline Loss* make_poly_one(View<const Index> indptr, View<const double> target, double epsilon) {
    return new PolyOne(indptr, target, epsilon);
}

}  // namespace plackett
