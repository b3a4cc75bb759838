// Bindings of a loss as such, and of listwise losses.
#include "core/bind.hpp"
#include "losses/listmle_curvature.hpp"
#include "losses/loss.hpp"

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

void bound(const Loss& loss, View<const double> scores, View<double> bounds) {
    loss.bound(scores, bounds, 0, n_queries(loss));
}

}  // namespace

void bind_listwise(nb::module_& module) {
    nb::class_<Loss>(module, "Loss", "A loss bound to the labels of some queries.");
    define<&evaluate>(module, "evaluate", "loss scores slope values");
    define<&multiply>(module, "multiply", "loss scores direction product");
    define<&diagonal>(module, "diagonal", "loss scores diagonal");
    define<&bound>(module, "bound", "loss scores bounds");

    define<&make_listmle>(module, "listmle", "indptr order bounds level_indptr weights is_efron");
    define<&shuffle_levels>(module, "shuffle_levels", "order bounds draws shuffled");
}

}  // namespace plackett
