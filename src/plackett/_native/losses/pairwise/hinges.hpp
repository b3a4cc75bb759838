// Losses of one pair with a threshold: functions of its gap z that are 0 below 0 and change their form at a width w.
//
// A pair of a better document i and a worse document j has the gap z = 1 - (f_i - f_j). If better documents have the
// coordinate f_i - 1 and worse ones f_j, z is the distance by which j is above i. A kind of loss returns, by `meet`,
// the cost of a pair and its pull on the two documents. Kinds are template parameters of the sums in hinge_sums.hpp.
#pragma once
#include <algorithm>
#include <limits>

#include "core/arrays.hpp"

namespace plackett {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

struct Cut {  // where a better document's pairs begin to cost, and where their loss changes its form
    double at, flat;
};
constexpr Cut NOWHERE = {INFINITE, INFINITE};  // nothing is beyond infinity

struct Met {
    double loss, pull;  // the loss in the kind's unit
};

struct Hinge {  // z
    static constexpr bool has_width = false;
    static constexpr double unit = 1.0;
    Cut cut(double score) const { return {score - 1.0, INFINITE}; }
    Met meet(double x, Cut cut) const {
        const double z = x - cut.at;
        return {z > 0.0 ? z : 0.0, z > 0.0 ? 1.0 : 0.0};
    }
};

struct SquaredHinge {  // z² / 2
    static constexpr bool has_width = false;
    static constexpr double unit = 0.5;
    Cut cut(double score) const { return {score - 1.0, INFINITE}; }
    Met meet(double x, Cut cut) const {
        const double z = x - cut.at > 0.0 ? x - cut.at : 0.0;
        return {z * z, z};
    }
    // t if the pair is active, so that it has a second derivative, which is 1; else 0
    double if_active(double x, Cut cut, double t) const { return x > cut.at ? t : 0.0; }
};

struct Ramp {  // min(z, w), which is constant above w
    static constexpr bool has_width = true;
    static constexpr double unit = 1.0;
    double width;
    Cut cut(double score) const { return {score - 1.0, score - (1.0 - width)}; }
    Met meet(double x, Cut cut) const {
        const double z = x - cut.at > 0.0 ? x - cut.at : 0.0;
        return {z < width ? z : width, (x > cut.at ? 1.0 : 0.0) - (x > cut.flat ? 1.0 : 0.0)};
    }
};

struct Bend {  // c (z - c / 2) with c = min(z, w), a parabola that continues as a straight line above w
    static constexpr bool has_width = true;
    static constexpr double unit = 1.0;
    double width;
    Cut cut(double score) const { return {score - 1.0, score - (1.0 - width)}; }
    Met meet(double x, Cut cut) const {
        const double z = x - cut.at > 0.0 ? x - cut.at : 0.0, c = z < width ? z : width;
        return {c * (z - 0.5 * c), c};
    }
    // t if the pair is active, that is, on the parabola; else 0
    double if_active(double x, Cut cut, double t) const {
        const double rising = x > cut.at ? t : 0.0;
        return x > cut.flat ? 0.0 : rising;
    }
};

}  // namespace plackett
