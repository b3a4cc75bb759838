// Functions for Python: scores by trees of a ranker, by trees with a branch for zeros (LightGBM), and by exported trees.
#pragma once
#include "rankers/trees/traversal.hpp"

namespace plackett::trees {

// A row takes the left branch if x <= threshold, both in double precision.
template <class Real, class Score>
void tree_scores(Rows<const Real> X, View<const Index> starts, View<const Index> features,
                 View<const double> thresholds, View<const Index> left, View<const Index> right,
                 View<const double> values, View<Score> scores) {
    add_leaves_dense<AtMost>(X, FlatTrees<double>{starts, features, thresholds, left, right, values, {nullptr, 0}},
                             scores);
}

template <class Real, class Place, class Score>
void tree_scores_sparse(View<const Real> data, View<const Place> indices, View<const Place> indptr, Index n_features,
                        View<const Index> starts, View<const Index> features, View<const double> thresholds,
                        View<const Index> left, View<const Index> right, View<const double> values,
                        View<Score> scores) {
    add_leaves_sparse<AtMost>(data, indices, indptr, n_features,
                              FlatTrees<double>{starts, features, thresholds, left, right, values, {nullptr, 0}},
                              scores);
}

template <class Real, class Score>
void zero_tree_scores(Rows<const Real> X, View<const Index> starts, View<const Index> features,
                      View<const double> thresholds, View<const Index> left, View<const Index> right,
                      View<const double> values, View<const bool> zeros_left, View<Score> scores) {
    add_leaves_dense<AtMostOrZero>(X, FlatTrees<double>{starts, features, thresholds, left, right, values, zeros_left},
                                   scores);
}

template <class Real, class Place, class Score>
void zero_tree_scores_sparse(View<const Real> data, View<const Place> indices, View<const Place> indptr,
                             Index n_features, View<const Index> starts, View<const Index> features,
                             View<const double> thresholds, View<const Index> left, View<const Index> right,
                             View<const double> values, View<const bool> zeros_left, View<Score> scores) {
    add_leaves_sparse<AtMostOrZero>(data, indices, indptr, n_features,
                                    FlatTrees<double>{starts, features, thresholds, left, right, values, zeros_left},
                                    scores);
}

// A row takes the left branch if x < threshold (`is_strict`) or x <= threshold. All numbers are float32, or all
// float64, and so is every sum.
template <class Real>
void exported_tree_scores(Rows<const Real> X, View<const Index> starts, View<const Index> features,
                          View<const Real> thresholds, View<const Index> left, View<const Index> right,
                          View<const Real> values, bool is_strict, View<Real> scores) {
    const FlatTrees<Real> trees{starts, features, thresholds, left, right, values, {nullptr, 0}};
    if (is_strict)
        add_leaves_dense<Below>(X, trees, scores);
    else
        add_leaves_dense<AtMost>(X, trees, scores);
}

}  // namespace plackett::trees
