// A loss bound to the labels of some queries: all that the objective and Python see of it.
//
// One object serves both ways of working: Python calls evaluate and multiply for all its queries at once, and the
// objective (objective/fused.hpp) calls them for a few queries at a time, while their rows of X are in the cache.
#pragma once
#include <stdexcept>

#include "core/arrays.hpp"

namespace plackett {

class Loss {
public:
    virtual ~Loss() = default;

    // The bounds of its queries, n_queries + 1.
    virtual View<const Index> indptr() const = 0;

    // Losses of queries first to last, and the slope of their documents; arrays are those of all its queries.
    virtual void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                          Index last) const = 0;

    // The loss's second derivative at the scores times a direction, for the documents of queries first to last.
    virtual void multiply(View<const double>, View<const double>, View<double>, Index, Index) const {
        throw std::logic_error("this loss has no curvature product");
    }
};

}  // namespace plackett
