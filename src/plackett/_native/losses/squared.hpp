// Least squares on the label: ½ Σ (f − y)² of each query.
#pragma once
#include "losses/loss.hpp"

namespace plackett {

class Squared final : public Loss {
public:
    Squared(View<const Index> bounds, View<const double> labels) : bounds(bounds), labels(labels) {}

    View<const Index> indptr() const override { return bounds; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        for (Index q = first; q < last; ++q) {
            double total = 0.0;
#pragma omp simd reduction(+ : total)
            for (Index i = bounds[q]; i < bounds[q + 1]; ++i) {
                slope[i] = scores[i] - labels[i];
                total += slope[i] * slope[i];
            }
            values[q] = 0.5 * total;
        }
    }

    void multiply(View<const double>, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        for (Index i = bounds[first]; i < bounds[last]; ++i) product[i] = direction[i];
    }

    void diagonal(View<const double>, View<double> diagonal, Index first, Index last) const override {
        diagonal.slice(bounds[first], bounds[last]).fill(1.0);
    }

    void bound(View<const double> scores, View<double> limits, Index first, Index last) const override {
        diagonal(scores, limits, first, last);
    }

private:
    View<const Index> bounds;
    View<const double> labels;
};

inline Loss* make_squared(View<const Index> indptr, View<const double> labels) { return new Squared(indptr, labels); }

}  // namespace plackett
