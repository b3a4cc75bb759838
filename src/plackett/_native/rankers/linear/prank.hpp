// One pass of PRank over the documents, in the order given.
#pragma once
#include <cmath>

#include "core/arrays.hpp"

namespace plackett::linear {

// Ordered thresholds between label levels, and the sums of their changes, each times its step.
struct Thresholds {
    View<double> now, moved;

    // Move the thresholds that misclassify a score, and add the number of missed levels to `missed`. Return
    // the pull on the coefficients. `level` counts from 0: the score belongs at or above the first `level` thresholds
    // and below the others.
    double move(double score, Index level, double step, Index& missed) const {
        Index guess = 0;
        while (guess < now.size && score >= now[guess]) ++guess;
        if (guess == level) return 0.0;
        double pull = 0.0;
        for (Index r = 0; r < now.size; ++r) {
            const double side = r < level ? 1.0 : -1.0;
            if (side * (score - now[r]) <= 0.0) {
                pull += side;
                now[r] -= side;
                moved[r] -= side * step;
            }
        }
        missed += std::abs(guess - level);
        return pull;
    }
};

// Steps `step`, `step` + 1, …; moved_coef and moved sum each change times its step, which gives the mean.
// Return the summed number of missed levels.
template <class Real>
Index prank_pass_dense(Rows<const Real> X, View<const Index> levels, View<const Index> order, double step,
                       View<double> coef, View<double> moved_coef, View<double> thresholds, View<double> moved) {
    Index missed = 0;
    const Thresholds between{thresholds, moved};
    for (const Index i : order) {
        const View<const Real> row = X[i];
        double score = 0.0;
        for (Index j = 0; j < coef.size; ++j) score += static_cast<double>(row[j]) * coef[j];
        const double pull = between.move(score, levels[i], step, missed);
        if (pull != 0.0)
            for (Index j = 0; j < coef.size; ++j) {
                const double change = pull * static_cast<double>(row[j]);
                coef[j] += change;
                moved_coef[j] += change * step;
            }
        step += 1.0;
    }
    return missed;
}

template <class Real, class Column>
Index prank_pass_sparse(View<const Real> data, View<const Column> indices, View<const Column> row_ptr,
                        View<const Index> levels, View<const Index> order, double step, View<double> coef,
                        View<double> moved_coef, View<double> thresholds, View<double> moved) {
    Index missed = 0;
    const Thresholds between{thresholds, moved};
    for (const Index i : order) {
        const Index start = row_ptr[i], stop = row_ptr[i + 1];
        double score = 0.0;
        for (Index place = start; place < stop; ++place)
            score += static_cast<double>(data[place]) * coef[indices[place]];
        const double pull = between.move(score, levels[i], step, missed);
        if (pull != 0.0)
            for (Index place = start; place < stop; ++place) {
                const double change = pull * static_cast<double>(data[place]);
                coef[indices[place]] += change;
                moved_coef[indices[place]] += change * step;
            }
        step += 1.0;
    }
    return missed;
}

}  // namespace plackett::linear
