// Binary cross-entropy Σ [log(1 + e^f) − y f] of each query, for labels y of any size.
#pragma once
#include "core/exp.hpp"
#include "losses/loss.hpp"

namespace plackett {

class BinaryCrossEntropy final : public Loss {
public:
    BinaryCrossEntropy(View<const Index> bounds, View<const double> labels) : bounds(bounds), labels(labels) {}

    View<const Index> indptr() const override { return bounds; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        for (Index q = first; q < last; ++q) {
            double total = 0.0;
#pragma omp simd reduction(+ : total)
            for (Index i = bounds[q]; i < bounds[q + 1]; ++i) {
                const double score = scores[i], label = labels[i], small = small_exp(score);
                const bool is_positive = score > 0.0;
                // (1 − y) f for f > 0: f and y f are not subtracted
                total += log(1.0 + small) + score * (is_positive ? 1.0 - label : -label);
                slope[i] = (is_positive ? 1.0 : small) / (1.0 + small) - label;
            }
            values[q] = total;
        }
    }

    void multiply(View<const double> scores, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        diagonal(scores, product, first, last);
        for (Index i = bounds[first]; i < bounds[last]; ++i) product[i] *= direction[i];
    }

    void diagonal(View<const double> scores, View<double> diagonal, Index first, Index last) const override {
#pragma omp simd
        for (Index i = bounds[first]; i < bounds[last]; ++i) {
            const double small = small_exp(scores[i]);
            diagonal[i] = small / ((1.0 + small) * (1.0 + small));
        }
    }

    void bound(View<const double> scores, View<double> limits, Index first, Index last) const override {
        diagonal(scores, limits, first, last);
    }

private:
    View<const Index> bounds;
    View<const double> labels;

    PLACKETT_INLINE static double small_exp(double score) { return exp(score > 0.0 ? -score : score); }
};

inline Loss* make_binary_cross_entropy(View<const Index> indptr, View<const double> labels) {
    return new BinaryCrossEntropy(indptr, labels);
}

}  // namespace plackett
