// Bindings of the fused pass over X.
#include "core/bind.hpp"
#include "objective/fused.hpp"

namespace plackett {

namespace {

template <class Real>
void evaluate(Rows<const Real> X, View<const double> coef, const Loss& loss, View<const double> weights,
              Index rows_at_once, View<double> values, View<double> gradient) {
    evaluate_rows(X, coef, loss, weights, rows_at_once, values, gradient);
}

template <class Real, class Column>
void evaluate_sparse(View<const Real> entries, View<const Column> columns, View<const Index> places, Index n_columns,
                     View<const double> coef, const Loss& loss, View<const double> weights, Index rows_at_once,
                     View<double> values, View<double> gradient) {
    evaluate_rows(SparseRows<Real, Column>{entries, columns, places, n_columns}, coef, loss, weights, rows_at_once,
                  values, gradient);
}

template <class Real>
void multiply(Rows<const Real> X, View<const double> coef, View<const double> direction, const Loss& loss,
              View<const double> weights, Index rows_at_once, View<double> gradient) {
    multiply_rows(X, coef, direction, loss, weights, rows_at_once, gradient);
}

template <class Real, class Column>
void multiply_sparse(View<const Real> entries, View<const Column> columns, View<const Index> places, Index n_columns,
                     View<const double> coef, View<const double> direction, const Loss& loss,
                     View<const double> weights, Index rows_at_once, View<double> gradient) {
    multiply_rows(SparseRows<Real, Column>{entries, columns, places, n_columns}, coef, direction, loss, weights,
                  rows_at_once, gradient);
}

}  // namespace

void bind_objective(const Module& module) {
    using Long = Index;
    using Short = std::int32_t;
    define<&evaluate<float>, &evaluate<double>>(module, "evaluate",
                                                "X coef loss weights rows_at_once values gradient");
    define<&multiply<float>, &multiply<double>>(module, "multiply",
                                                "X coef direction loss weights rows_at_once gradient");
    define<&evaluate_sparse<float, Short>, &evaluate_sparse<double, Short>, &evaluate_sparse<float, Long>,
           &evaluate_sparse<double, Long>>(
        module, "evaluate_sparse",
        "entries columns places n_columns coef loss weights rows_at_once values gradient");
    define<&multiply_sparse<float, Short>, &multiply_sparse<double, Short>, &multiply_sparse<float, Long>,
           &multiply_sparse<double, Long>>(
        module, "multiply_sparse",
        "entries columns places n_columns coef direction loss weights rows_at_once gradient");
}

}  // namespace plackett
