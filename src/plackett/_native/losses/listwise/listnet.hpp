// ListNet: the cross entropy −Σ target · log softmax(f) of each query.
#pragma once
#include "losses/loss.hpp"
#include "core/vector_ops.hpp"

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

class ListNet final : public Loss {
public:
    ListNet(View<const Index> bounds, View<const double> target) : bounds(bounds), target(target) {}

    View<const Index> indptr() const override { return bounds; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        for (Index q = first; q < last; ++q) {
            const auto here = scores.slice(bounds[q], bounds[q + 1]), wanted = target.slice(bounds[q], bounds[q + 1]);
            const auto pull = slope.slice(bounds[q], bounds[q + 1]);
            values[q] = 0.0;
            if (here.size == 0) continue;
            const auto softmax = softmax_of(here, pull);
            const double top = softmax.top;
            double below = 0.0;  // the mean of top − f; the targets sum to 1
#pragma omp simd reduction(+ : below)
            for (Index i = 0; i < here.size; ++i) {
                below += wanted[i] * (top - here[i]);
                pull[i] -= wanted[i];
            }
            values[q] = std::log(softmax.total) + below;
        }
    }

    void multiply(View<const double> scores, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        for (Index q = first; q < last; ++q) {
            const auto out = shares_of(scores, product, q);
            multiply_softmax(out, direction.slice(bounds[q], bounds[q + 1]), out);
        }
    }

    void diagonal(View<const double> scores, View<double> diagonal, Index first, Index last) const override {
        for (Index q = first; q < last; ++q) {
            const auto out = shares_of(scores, diagonal, q);
            for (Index i = 0; i < out.size; ++i) out[i] *= 1.0 - out[i];
        }
    }

    // The shares: the second derivative is their diagonal minus their outer product.
    void bound(View<const double> scores, View<double> limits, Index first, Index last) const override {
        for (Index q = first; q < last; ++q) {
            const auto out = shares_of(scores, limits, q);
            if (out.size == 1) out[0] = 0.0;
        }
    }

private:
    View<const Index> bounds;
    View<const double> target;

    View<double> shares_of(View<const double> scores, View<double> out, Index q) const {
        const auto here = out.slice(bounds[q], bounds[q + 1]);
        if (here.size > 0) softmax_of(scores.slice(bounds[q], bounds[q + 1]), here);
        return here;
    }
};

inline Loss* make_listnet(View<const Index> indptr, View<const double> target) { return new ListNet(indptr, target); }

}  // namespace plackett
