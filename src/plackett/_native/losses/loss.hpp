// A loss bound to the labels of some queries: the interface for the objective and for Python.
//
// Python calls a loss for all its queries at once. The objective (objective/fused.hpp) calls it for a few queries at a
// time, while their rows of X are in the cache. Arrays are indexed by row among all queries, but only entries of the
// queries first to last (exclusive) are accessible.
#pragma once
#include <stdexcept>

#include "core/arrays.hpp"

namespace plackett {

class Loss {
public:
    virtual ~Loss() = default;

    // The bounds of its queries, n_queries + 1.
    virtual View<const Index> indptr() const = 0;

    // Losses of queries first to last, and the slope of their documents, whose previous values are overwritten.
    virtual void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                          Index last) const = 0;

    // The second derivative of the loss at the scores times a direction, for the documents of queries first to last.
    virtual void multiply(View<const double> /*scores*/, View<const double> /*direction*/, View<double> /*product*/,
                          Index /*first*/, Index /*last*/) const {
        throw std::logic_error("this loss has no curvature product");
    }

    // The diagonal of the second derivative.
    virtual void diagonal(View<const double> /*scores*/, View<double> /*diagonal*/, Index /*first*/,
                          Index /*last*/) const {
        throw std::logic_error("this loss has no curvature diagonal");
    }

    // Both of `evaluate` and `diagonal`, in one pass where that saves time; the results are the same.
    virtual void evaluate_with_diagonal(View<const double> scores, View<double> slope, View<double> diagonal,
                                        View<double> values, Index first, Index last) const {
        evaluate(scores, slope, values, first, last);
        this->diagonal(scores, diagonal, first, last);
    }

    // Numbers d ≥ 0 such that diag(d) is at least the second derivative.
    virtual void bound(View<const double> /*scores*/, View<double> /*bounds*/, Index /*first*/, Index /*last*/) const {
        throw std::logic_error("this loss has no curvature bound");
    }

    // The loss with its weights held at these scores, a new object that depends on this one's arrays.
    virtual Loss* held_at(View<const double> /*scores*/) const {
        throw std::logic_error("this loss has no weights that depend on the scores");
    }
};

}  // namespace plackett
