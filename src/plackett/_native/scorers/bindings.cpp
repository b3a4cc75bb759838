// Bindings of linear scores and pull-backs.
#include "core/bind.hpp"
#include "scorers/linear.hpp"

namespace plackett {

namespace {

// score and pull_back are overloaded for selected rows, so that &score<Real> alone would be ambiguous
template <class Real>
void score_dense(Rows<const Real> X, View<const double> coef, View<double> scores) {
    score(X, coef, scores);
}

template <class Real>
void pull_back_dense(Rows<const Real> X, View<const double> slope, View<double> gradient) {
    pull_back(X, slope, gradient);
}

template <class Real, class Column>
void score_sparse(View<const Real> values, View<const Column> columns, View<const Index> places, Index n_columns,
                  View<const double> coef, View<double> scores) {
    score(SparseRows<Real, Column>{values, columns, places, n_columns}, coef, scores);
}

template <class Real, class Column>
void pull_back_sparse(View<const Real> values, View<const Column> columns, View<const Index> places, Index n_columns,
                      View<const double> slope, View<double> gradient) {
    pull_back(SparseRows<Real, Column>{values, columns, places, n_columns}, slope, gradient);
}

template <class Real, class Column>
void add_squares_sparse(View<const Real> values, View<const Column> columns, View<const Index> places, Index n_columns,
                        View<const double> weights, View<double> diagonal) {
    add_squares(SparseRows<Real, Column>{values, columns, places, n_columns}, weights, diagonal);
}

}  // namespace

void bind_scorers(const Module& module) {
    using Long = Index;
    using Short = std::int32_t;
    define<&score_dense<float>, &score_dense<double>>(module, "score", "X coef scores");
    define<&pull_back_dense<float>, &pull_back_dense<double>>(module, "pull_back", "X slope gradient");
    define<&add_squares<float>, &add_squares<double>>(module, "add_squares", "X weights diagonal");
    define<&score_sparse<float, Short>, &score_sparse<double, Short>, &score_sparse<float, Long>,
           &score_sparse<double, Long>>(module, "score_sparse", "values columns places n_columns coef scores");
    define<&pull_back_sparse<float, Short>, &pull_back_sparse<double, Short>, &pull_back_sparse<float, Long>,
           &pull_back_sparse<double, Long>>(module, "pull_back_sparse",
                                            "values columns places n_columns slope gradient");
    define<&add_squares_sparse<float, Short>, &add_squares_sparse<double, Short>, &add_squares_sparse<float, Long>,
           &add_squares_sparse<double, Long>>(module, "add_squares_sparse",
                                              "values columns places n_columns weights diagonal");
}

}  // namespace plackett
