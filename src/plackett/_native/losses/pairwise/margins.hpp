// Losses of one pair as functions of its margin m, for enumerated pairs with weights (weighted_pairs.hpp).
//
// `meet` returns the loss and the pull, minus its derivative; `bend` its second derivative, or an estimate that is not
// negative if the loss is not convex. The margin is the difference of scores times `rate`; results are multiplied by `scale`.
// Kinds with needs_exponential receive e = e^-|m|, which is often a product of two exponentials of scores.
#pragma once
#include "core/exp.hpp"
#include "losses/pairwise/hinges.hpp"

namespace plackett {

struct PlainKind {
    static constexpr bool needs_exponential = false, is_curved = true, has_targets = false;
    static constexpr double rate = 1.0, scale = 1.0;
};

// A loss of hinges.hpp, which takes minus the margin as a score that is compared with a cut at -1.
template <class Threshold>
struct ThresholdMargin : PlainKind {
    static constexpr bool is_curved = requires(Threshold t) { t.if_active(0.0, NOWHERE, 1.0); };
    Threshold threshold;
    double scale = 1.0;

    PLACKETT_INLINE Met meet(double m, double) const {
        const Met met = threshold.meet(-m, threshold.cut(0.0));
        return {Threshold::unit * met.loss, met.pull};
    }
    PLACKETT_INLINE double bend(double m, double) const
        requires is_curved
    {
        return threshold.if_active(-m, threshold.cut(0.0), 1.0);
    }
};

struct LogisticMargin : PlainKind {  // log(1 + e^-m)
    static constexpr bool needs_exponential = true;
    double rate = 1.0;

    // One division for two quotients; a pass that both meets and bends computes it once.
    PLACKETT_INLINE static double inverse_of(double e) { return 1.0 / ((1.0 + e) * (2.0 + e)); }

    PLACKETT_INLINE Met meet(double m, double e) const {
        const double inverse = inverse_of(e), share = (2.0 + e) * inverse;
        const double below = m < 0.0 ? -m : 0.0;
        return {below + log_of_one_plus(e * (1.0 + e) * inverse), m < 0.0 ? share : e * share};
    }
    PLACKETT_INLINE double bend(double, double e) const {
        const double share = (2.0 + e) * inverse_of(e);
        return e * share * share;
    }
};

// 1 / (1 + e^m), which is not convex. `bend` is that of the logistic loss, at least the absolute second derivative.
struct SoftZeroOneMargin : PlainKind {
    static constexpr bool needs_exponential = true;
    double rate = 1.0;

    PLACKETT_INLINE Met meet(double m, double e) const {
        const double share = 1.0 / (1.0 + e);
        return {m < 0.0 ? share : e * share, e * share * share};
    }
    PLACKETT_INLINE double bend(double m, double e) const { return meet(m, e).pull; }
};

struct ExponentialMargin : PlainKind {  // e^-m; a margin below -600 counts as that, so that sums stay finite
    PLACKETT_INLINE Met meet(double m, double) const {
        const double loss = exp(-m < 600.0 ? -m : 600.0);
        return {loss, loss};
    }
    PLACKETT_INLINE double bend(double m, double e) const { return meet(m, e).loss; }
};

struct SquaredMargin : PlainKind {  // m²; labels are subtracted from the scores, so that m is the error of the margin
    static constexpr bool has_targets = true;

    PLACKETT_INLINE Met meet(double m, double) const { return {m * m, -2.0 * m}; }
    PLACKETT_INLINE double bend(double, double) const { return 2.0; }
};

}  // namespace plackett
