// Functions for Python: scores by trees of a ranker, and by exported trees.
#pragma once
#include "rankers/trees/traversal.hpp"

namespace plackett::trees {

// Trees that compare numbers only. Comparisons are in double precision.
template <class Real, class Score>
void tree_scores(Rows<const Real> X, View<const Index> starts, View<const Index> features,
                 View<const double> thresholds, View<const Index> left, View<const Index> right,
                 View<const double> values, View<const bool> missing_left, View<Score> scores) {
    const FlatTrees<double> trees{starts, features, thresholds, left, right, values, missing_left, {nullptr, 0}};
    add_leaves_dense(Compared<false>{}, X, trees, scores);
}

template <class Real, class Place, class Score>
void tree_scores_sparse(View<const Real> data, View<const Place> indices, View<const Place> indptr, Index n_features,
                        View<const Index> starts, View<const Index> features, View<const double> thresholds,
                        View<const Index> left, View<const Index> right, View<const double> values,
                        View<const bool> missing_left, View<Score> scores) {
    const FlatTrees<double> trees{starts, features, thresholds, left, right, values, missing_left, {nullptr, 0}};
    add_leaves_sparse(Compared<false>{}, data, indices, indptr, n_features, trees, scores);
}

// Call `add` with the cheaper rule for trees with other kinds of splits.
template <class Add>
inline void with_rule(const CodeSets& sets, double zero_width, const Add& add) {
    if (sets.starts.size < 2)
        add(OrZero{zero_width});
    else
        add(AnyKind{{zero_width}, sets});
}

template <class Real, class Score>
void any_tree_scores(Rows<const Real> X, View<const Index> starts, View<const Index> features,
                     View<const double> thresholds, View<const Index> left, View<const Index> right,
                     View<const double> values, View<const bool> missing_left, View<const std::uint8_t> kinds,
                     View<const Index> set_starts, View<const std::uint32_t> sets, double zero_width,
                     View<Score> scores) {
    const FlatTrees<double> trees{starts, features, thresholds, left, right, values, missing_left, kinds};
    with_rule({set_starts, sets}, zero_width,
              [&](const auto& goes_left) { add_leaves_dense(goes_left, X, trees, scores); });
}

template <class Real, class Place, class Score>
void any_tree_scores_sparse(View<const Real> data, View<const Place> indices, View<const Place> indptr,
                            Index n_features, View<const Index> starts, View<const Index> features,
                            View<const double> thresholds, View<const Index> left, View<const Index> right,
                            View<const double> values, View<const bool> missing_left,
                            View<const std::uint8_t> kinds, View<const Index> set_starts,
                            View<const std::uint32_t> sets, double zero_width, View<Score> scores) {
    const FlatTrees<double> trees{starts, features, thresholds, left, right, values, missing_left, kinds};
    with_rule({set_starts, sets}, zero_width, [&](const auto& goes_left) {
        add_leaves_sparse(goes_left, data, indices, indptr, n_features, trees, scores);
    });
}

// A row takes the left branch if x < threshold (`is_strict`) or x <= threshold. All numbers are float32, or all
// float64, and so is every sum.
template <class Real>
void exported_tree_scores(Rows<const Real> X, View<const Index> starts, View<const Index> features,
                          View<const Real> thresholds, View<const Index> left, View<const Index> right,
                          View<const Real> values, View<const bool> missing_left, bool is_strict, View<Real> scores) {
    const FlatTrees<Real> trees{starts, features, thresholds, left, right, values, missing_left, {nullptr, 0}};
    if (is_strict)
        add_leaves_dense(Compared<true>{}, X, trees, scores);
    else
        add_leaves_dense(Compared<false>{}, X, trees, scores);
}

}  // namespace plackett::trees
