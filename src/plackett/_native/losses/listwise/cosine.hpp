// RankCosine: half of one minus the cosine between transformed labels and scores, ½ (1 − cos(φ(y), φ(f))).
#pragma once
#include "losses/loss.hpp"
#include "core/vector_ops.hpp"

namespace plackett {

namespace cosine {

constexpr double SMALLEST = 1e-300;  // a shorter vector counts as zero: its slope would be NaN

// Divide by the largest absolute value, so that squares neither overflow nor underflow. Return that value.
inline double scale_to_one(View<double> values) {
    const auto [low, high] = range_of(values);
    const double largest = std::max(-low, high);
    if (!(largest >= SMALLEST)) return 0.0;
#pragma omp simd
    for (Index i = 0; i < values.size; ++i) values[i] /= largest;
    return largest;
}

// ½ (1 − cos) of one query, from a vector of this length in `slope`, which takes the slope times `inner`.
inline double of_query(View<double> slope, View<const double> wanted, double length, double inner) {
    if (slope.size < 2 || length == 0.0 || inner_product(wanted, wanted) == 0.0) {
        slope.fill(0.0);
        return slope.size < 2 ? 0.0 : 0.5;
    }
    const double share = 1.0 / length, agreement = inner_product(slope, wanted) * share;
    double apart = 0.0;  // 2 − 2 cos, without cancellation
#pragma omp simd reduction(+ : apart)
    for (Index i = 0; i < slope.size; ++i) {
        const double unit = slope[i] * share, gap = unit - wanted[i];
        apart += gap * gap;
        slope[i] = 0.5 * inner * (agreement * unit - wanted[i]);
    }
    return 0.25 * apart;
}

}  // namespace cosine

// Scale each query to length 1, in place; `lengths` receives the previous lengths. Zero vectors become exactly 0.
inline void to_unit_length(View<double> values, View<const Index> indptr, View<double> lengths) {
    for (Index q = 0; q < indptr.size - 1; ++q) {
        const auto here = values.slice(indptr[q], indptr[q + 1]);
        const double largest = cosine::scale_to_one(here);
        const double length = largest > 0.0 ? std::sqrt(inner_product(here, here)) : 0.0;
        lengths[q] = largest * length;
        for (Index i = 0; i < here.size; ++i) here[i] = length > 0.0 ? here[i] / length : 0.0;
    }
}

// The exponentials of each query over the largest of them.
inline void exp_below_largest(View<const double> logs, View<const Index> indptr, View<double> out) {
    for (Index q = 0; q < indptr.size - 1; ++q) {
        const auto here = logs.slice(indptr[q], indptr[q + 1]);
        if (here.size > 0) exp_below(here, largest_of(here), out.slice(indptr[q], indptr[q + 1]));
    }
}

// ½ (1 − cos) of each query, from vectors of length 1 or 0. The slope is by the vector before scaling, times its
// length.
inline void cosine_of_unit(View<const double> unit, View<const double> target, View<const Index> indptr,
                           View<double> values, View<double> slope) {
    for (Index q = 0; q < indptr.size - 1; ++q) {
        const auto here = unit.slice(indptr[q], indptr[q + 1]);
        const auto pull = slope.slice(indptr[q], indptr[q + 1]);
        std::copy(here.begin(), here.end(), pull.begin());
        const double length = inner_product(here, here) == 0.0 ? 0.0 : 1.0;
        values[q] = cosine::of_query(pull, target.slice(indptr[q], indptr[q + 1]), length, 1.0);
    }
}

// Second derivatives that match this slope, times the squared length; 0 if the slope is 0 by definition.
inline void cosine_diagonal(View<const double> unit, View<const double> target, View<const Index> indptr,
                            View<double> second) {
    for (Index q = 0; q < indptr.size - 1; ++q) {
        const auto here = unit.slice(indptr[q], indptr[q + 1]), wanted = target.slice(indptr[q], indptr[q + 1]);
        const auto out = second.slice(indptr[q], indptr[q + 1]);
        const double agreement = inner_product(here, wanted);
        const bool is_counted =
            here.size > 1 && inner_product(here, here) > 0.0 && inner_product(wanted, wanted) > 0.0;
        for (Index i = 0; i < here.size; ++i) {
            const double bend = here[i] * wanted[i] + 0.5 * agreement * (1.0 - 3.0 * here[i] * here[i]);
            out[i] = is_counted ? bend : 0.0;
        }
    }
}

class CosineOfLinear final : public Loss {  // φ(f) = a f + b
public:
    CosineOfLinear(View<const Index> bounds, View<const double> target, double a, double b)
        : bounds(bounds), target(target), a(a), b(b) {}

    View<const Index> indptr() const override { return bounds; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        for (Index q = first; q < last; ++q) {
            const auto here = scores.slice(bounds[q], bounds[q + 1]);
            const auto pull = slope.slice(bounds[q], bounds[q + 1]);
#pragma omp simd
            for (Index i = 0; i < here.size; ++i) pull[i] = a * here[i] + b;
            const double largest = cosine::scale_to_one(pull);
            const double length = largest > 0.0 ? std::sqrt(inner_product(pull, pull)) : 0.0;
            const double inner = a / std::max(largest * length, cosine::SMALLEST);
            values[q] = cosine::of_query(pull, target.slice(bounds[q], bounds[q + 1]), length, inner);
        }
    }

private:
    View<const Index> bounds;
    View<const double> target;
    double a, b;
};

inline Loss* make_cosine_of_linear(View<const Index> indptr, View<const double> target, double a, double b) {
    return new CosineOfLinear(indptr, target, a, b);
}

}  // namespace plackett
