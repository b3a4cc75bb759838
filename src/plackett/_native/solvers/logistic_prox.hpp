// The proximal step of ADMM for the logistic loss.
#pragma once
#include <algorithm>
#include <cmath>

#include "core/arrays.hpp"

namespace plackett {

// Move every margin z to the minimum of ratio · log(1 + e^-z) + (z - target)² / 2, by Newton's method. The minimum is
// between the target and the target plus the ratio; a step that leaves the current bracket is replaced by its
// midpoint.
inline void logistic_prox(View<const double> targets, View<const double> ratios, View<double> margins) {
    for (Index t = 0; t < targets.size; ++t) {
        const double target = targets[t], ratio = ratios[t];
        double low = target, high = target + ratio;
        double z = std::min(std::max(margins[t], low), high);
        for (int k = 0; k < 60; ++k) {
            const double pull = 0.5 * (1.0 - std::tanh(0.5 * z));  // the sigmoid of -z; tanh cannot overflow
            const double slope = z - target - ratio * pull;
            (slope > 0.0 ? high : low) = z;
            const double step = slope / (1.0 + ratio * pull * (1.0 - pull));
            z -= step;
            if (!(low <= z && z <= high)) z = 0.5 * (low + high);
            if (std::abs(step) <= 1e-13 * (1.0 + std::abs(z))) break;
        }
        margins[t] = z;
    }
}

}  // namespace plackett
