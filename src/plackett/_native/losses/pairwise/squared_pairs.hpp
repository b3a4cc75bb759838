// The squared loss of pairs, (m - (y_i - y_j))², over all pairs of a query, equal labels included: O(n).
//
// With d = f - y it is Σ over pairs of (d_i - d_j)² = n Σ (d - mean of d)².
#pragma once
#include "losses/loss.hpp"
#include "losses/pairwise/enumeration.hpp"

namespace plackett {

class SquaredPairs : public Loss {
public:
    SquaredPairs(View<const Index> bounds, View<const double> labels, View<const double> weights)
        : bounds(bounds), labels(labels), weights(weights) {}

    View<const Index> indptr() const override { return bounds; }
    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        for (Index q = first; q < last; ++q)
            values[q] = 0.5 * spread(q, slope, [&](Index i) { return scores[i] - labels[i]; });
    }
    void multiply(View<const double>, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        for (Index q = first; q < last; ++q) spread(q, product, [&](Index i) { return direction[i]; });
    }
    void diagonal(View<const double>, View<double> diagonal, Index first, Index last) const override {
        fill(diagonal, 1, first, last);
    }
    void bound(View<const double>, View<double> bounds, Index first, Index last) const override {
        fill(bounds, 0, first, last);
    }

private:
    // Write 2 n w (d - mean of d) of a query and return Σ of its products with d - mean of d. Distances count from the
    // first document, so that a shift changes nothing.
    template <class Of>
    double spread(Index q, View<double> out, Of of) const {
        const Index start = bounds[q], stop = bounds[q + 1];
        if (start == stop) return 0.0;
        const double origin = of(start), n = static_cast<double>(stop - start), factor = 2.0 * n * weights[q];
        double mean = 0.0, total = 0.0;
        for (Index i = start; i < stop; ++i) {
            const double far = of(i) - origin;
            out[i] = far < -FARTHEST ? -FARTHEST : far > FARTHEST ? FARTHEST : far;  // NaN stays
            mean += out[i] / n;
        }
        for (Index i = start; i < stop; ++i) {
            const double distance = out[i] - mean;
            out[i] = factor * distance;
            total += out[i] * distance;
        }
        return total;
    }
    void fill(View<double> out, Index n_less, Index first, Index last) const {
        for (Index q = first; q < last; ++q)
            out.slice(bounds[q], bounds[q + 1])
                .fill(2.0 * weights[q] * static_cast<double>(bounds[q + 1] - bounds[q] - n_less));
    }

    View<const Index> bounds;
    View<const double> labels, weights;
};

}  // namespace plackett
