// Bindings of the loss interface and of listwise losses.
#include "core/bind.hpp"
#include "losses/binary_cross_entropy.hpp"
#include "losses/listwise/cosine.hpp"
#include "losses/listwise/cost_sensitive.hpp"
#include "losses/listwise/cross_entropy.hpp"
#include "losses/listwise/listmle_curvature.hpp"
#include "losses/listwise/pl_rank.hpp"
#include "losses/listwise/unique_softmax.hpp"
#include "losses/loss.hpp"
#include "losses/squared.hpp"

namespace plackett {

namespace {

Index n_queries(const Loss& loss) { return loss.indptr().size - 1; }

void evaluate(const Loss& loss, View<const double> scores, View<double> slope, View<double> values) {
    loss.evaluate(scores, slope, values, 0, n_queries(loss));
}

void multiply(const Loss& loss, View<const double> scores, View<const double> direction, View<double> product) {
    loss.multiply(scores, direction, product, 0, n_queries(loss));
}

void diagonal(const Loss& loss, View<const double> scores, View<double> diagonal) {
    loss.diagonal(scores, diagonal, 0, n_queries(loss));
}

void evaluate_with_diagonal(const Loss& loss, View<const double> scores, View<double> slope, View<double> diagonal,
                            View<double> values) {
    loss.evaluate_with_diagonal(scores, slope, diagonal, values, 0, n_queries(loss));
}

void bound(const Loss& loss, View<const double> scores, View<double> bounds) {
    loss.bound(scores, bounds, 0, n_queries(loss));
}

Loss* held_at(const Loss& loss, View<const double> scores) { return loss.held_at(scores); }

}  // namespace

void bind_listwise(const Module& module) {
    define<&evaluate>(module, "evaluate", "loss scores slope values");
    define<&multiply>(module, "multiply", "loss scores direction product");
    define<&diagonal>(module, "diagonal", "loss scores diagonal");
    define<&evaluate_with_diagonal>(module, "evaluate_with_diagonal", "loss scores slope diagonal values");
    define<&bound>(module, "bound", "loss scores bounds");
    define<&held_at>(module, "held_at", "loss scores");

    define<&make_listmle>(module, "listmle", "indptr order bounds level_indptr weights is_efron");
    define<&shuffle_levels>(module, "shuffle_levels", "order bounds draws shuffled");

    define<&make_cross_entropy>(module, "cross_entropy", "indptr target");
    define<&make_poly_one>(module, "poly_one", "indptr target epsilon");
    define<&make_unique_softmax>(module, "unique_softmax", "indptr order bounds level_indptr weights");
    define<&make_pl_rank>(module, "pl_rank",
                          "indptr order bounds level_indptr labels gains discounts n_samples seed");
    define<&softmax>(module, "softmax", "values indptr out");
    define<&softmax_product>(module, "softmax_product", "share direction indptr out");

    define<&make_cosine_of_linear>(module, "cosine_of_linear", "indptr target a b");
    define<&cosine_of_unit>(module, "cosine_of_unit", "unit target indptr values slope");
    define<&cosine_diagonal>(module, "cosine_diagonal", "unit target indptr second");
    define<&to_unit_length>(module, "to_unit_length", "values indptr lengths");
    define<&exp_below_largest>(module, "exp_below_largest", "logs indptr out");

    define<&make_cost_sensitive>(module, "cost_sensitive",
                                 "order indptr bounds level_indptr strength norm scale sign");
    define<&keep_cost_sensitive>(module, "keep_cost_sensitive", "loss scores mean change pull weight rivalry stay");
    define<&multiply_cost_sensitive>(module, "multiply_cost_sensitive",
                                     "loss mean change pull weight rivalry stay direction product");
    define<&weigh_levels>(module, "weigh_levels",
                          "labels order indptr bounds level_indptr is_label k strength norm scale");

    define<&make_squared>(module, "squared", "indptr labels");
    define<&make_binary_cross_entropy>(module, "binary_cross_entropy", "indptr labels");
}

}  // namespace plackett
