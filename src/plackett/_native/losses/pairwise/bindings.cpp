// Bindings of pairwise losses.
#include "core/bind.hpp"
#include "losses/pairwise/label_hinge.hpp"
#include "losses/pairwise/pairwise.hpp"
#include "losses/pairwise/weighted_pairs.hpp"

namespace plackett {

namespace {

PairPlan* make_plan(View<const Index> order, View<const Index> indptr, View<const std::int32_t> run_end,
                    Rows<const Index> steps, View<const Index> step_indptr) {
    return new PairPlan{order, indptr, run_end, steps, step_indptr};
}

Loss* make_hinge(const PairPlan& plan, View<const double> weights) { return new PairLoss<Hinge>({}, plan, weights); }

Loss* make_squared_hinge(const PairPlan& plan, View<const double> weights) {
    return new CurvedPairLoss<SquaredHinge>({}, plan, weights);
}

Loss* make_ramp(const PairPlan& plan, View<const double> weights, double width) {
    return new PairLoss<Ramp>({width}, plan, weights);
}

Loss* make_bend(const PairPlan& plan, View<const double> weights, double width) {
    return new CurvedPairLoss<Bend>({width}, plan, weights);
}

Loss* find_squared_hinge(const PairPlan& plan, View<const double> weights, View<const double> scores) {
    return new PairCurvature<SquaredHinge>({}, plan, weights, scores);
}

Loss* find_bend(const PairPlan& plan, View<const double> weights, double width, View<const double> scores) {
    return new PairCurvature<Bend>({width}, plan, weights, scores);
}

Loss* make_logistic(const PairPlan& plan, View<const double> weights, double sigma) {
    return new LogisticLoss(plan, weights, sigma);
}

Loss* make_exponential(View<const Index> order, View<const Index> indptr, View<const Index> bounds,
                       View<const Index> level_indptr, View<const double> weights) {
    return new ExponentialLoss({order, indptr, bounds, level_indptr}, weights);
}

Loss* make_label_hinge(View<const Index> order, View<const Index> indptr, View<const double> labels,
                       View<const double> weights) {
    return new LabelHinge(order, indptr, labels, weights);
}

Loss* make_squared_pairs(View<const Index> indptr, View<const double> labels, View<const double> weights) {
    return new SquaredPairs(indptr, labels, weights);
}

}  // namespace

void bind_pairwise(const Module& module) {
    define<&plan_steps>(module, "plan_steps", "bounds of_queries query_bounds squares steps indptr");
    define<&make_plan>(module, "pair_plan", "order indptr run_end steps step_indptr");
    define<&make_hinge>(module, "hinge", "plan weights");
    define<&make_squared_hinge>(module, "squared_hinge", "plan weights");
    define<&make_ramp>(module, "ramp", "plan weights width");
    define<&make_bend>(module, "bend", "plan weights width");
    define<&find_squared_hinge>(module, "squared_hinge_curvature", "plan weights scores");
    define<&find_bend>(module, "bend_curvature", "plan weights width scores");
    define<&make_logistic>(module, "logistic", "plan weights sigma");
    define<&make_exponential>(module, "exponential", "order indptr bounds level_indptr weights");
    define<&make_label_hinge>(module, "label_hinge", "order indptr labels weights");
    define<&make_squared_pairs>(module, "squared_pairs", "indptr labels weights");
    define<&make_weighted_pairs>(module, "weighted_pairs",
                                 "plan query_weights labels gains discounts loss parameter weight k mu has_norm");
}

}  // namespace plackett
