// The hinge loss of all ordered pairs, each weighted by the label of the document that should be above: O(n log n).
//
// Σ_i y_i Σ_j max(0, 1 - (f_i - f_j)). The partners of a document in sorted order begin at a threshold that moves with it.
#pragma once
#include "core/sort.hpp"
#include "losses/loss.hpp"
#include "losses/pairwise/enumeration.hpp"

namespace plackett {

class LabelHinge : public Loss {
public:
    // `labels` are in the order of the rows in `order`.
    LabelHinge(View<const Index> order, View<const Index> bounds, View<const double> labels, View<const double> weights)
        : order(order), bounds(bounds), labels(labels), weights(weights) {}

    View<const Index> indptr() const override { return bounds; }
    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        const Index longest = longest_list(bounds, first, last);
        const BucketSort sort(longest);
        const Scratch<double> sorted(longest), pull(longest);
        const Scratch<Index> places(longest);
        for (Index q = first; q < last; ++q) {
            const Index start = bounds[q], n = bounds[q + 1] - start;
            const View<const Index> rows = order.slice(start, start + n);
            const View<double> x = sorted.slice(0, n);
            const bool is_finite = load(scores, rows, x);
            sort(x, places.slice(0, n));
            const double weight = is_finite ? weights[q] : std::numeric_limits<double>::quiet_NaN();
            const View<const double> own = labels.slice(start, start + n);
            values[q] = weight * meet_all(x, places.slice(0, n), own, pull);
            put(weight, pull, rows, slope);
        }
    }

private:
    // Return the loss of a list and write the pull on its documents. Scores ascend; `places` are those of their labels.
    static double meet_all(View<const double> x, View<const Index> places, View<const double> labels, View<double> pull) {
        const Index n = x.size;
        double above = 0.0;  // summed labels of the documents that a document should not be close to
        for (Index j = 0, end = 0; j < n; ++j) {
            for (; end < n && x[j] > x[end] - 1.0; ++end) above += labels[places[end]];
            pull[places[j]] = above - labels[places[j]];
        }
        double loss = 0.0, gaps = 0.0, count = 0.0;  // of the documents from `begin` on, the document itself included
        for (Index i = n - 1, begin = n; i >= 0; --i) {
            if (i < n - 1) gaps += count * (x[i + 1] - x[i]);
            for (; begin > 0 && x[begin - 1] > x[i] - 1.0; ++count) gaps += x[--begin] - (x[i] - 1.0);
            loss += labels[places[i]] * (gaps - 1.0);
            pull[places[i]] -= labels[places[i]] * (count - 1.0);
        }
        return loss;
    }

    View<const Index> order, bounds;
    View<const double> labels, weights;
};

}  // namespace plackett
