// Paths of rows from the root to a leaf of each tree, and sums over the trees.
//
// The leaves of a row are summed tree by tree, independently of other rows, and rounded to the precision of the scores, as
// in the package that grew the trees: XGBoost adds in single precision.
#pragma once
#include <cmath>
#include <type_traits>

#include "rankers/trees/nodes.hpp"

#if defined(__GNUC__) || defined(__clang__)
#define PLACKETT_APART [[gnu::noinline]]  // a loop that needs all registers; inlined, it is 4 % slower
#else
#define PLACKETT_APART
#endif

namespace plackett::trees {

// The branch that a row takes at a split, which is a Split or a Node. NaN is not less than anything and takes the right one.
struct AtMost {
    template <class Real, class At>
    bool operator()(Real value, const At& split) const {
        return value <= split.threshold;
    }
};

// The split has a branch for missing values. No code branches, which would often be mispredicted.
template <bool is_strict>
struct Compared {
    template <class Real, class At>
    bool operator()(Real value, const At& split) const {
        const bool is_below = is_strict ? value < split.threshold : value <= split.threshold;
        return is_below | (split.missing_left & (value != value));
    }
};

// Some splits have the kind ZERO_IS_MISSING. `zero_width` is the largest number that counts as 0.
struct OrZero {
    double zero_width;

    template <class At>
    bool operator()(double value, const At& split) const {
        const bool may_be_zero = (split.kind & ZERO_IS_MISSING) != 0, is_zero = std::abs(value) <= zero_width;
        const bool is_missing = (value != value) | (may_be_zero & is_zero), is_at_most = value <= split.threshold;
        return (is_missing & split.missing_left) | (!is_missing & is_at_most);
    }
};

// Splits of all kinds.
struct AnyKind {
    OrZero number;
    CodeSets sets;

    template <class At>
    bool operator()(double value, const At& split) const {
        if (split.kind != CATEGORY) return number(value, split);
        return value != value ? split.missing_left : sets.contains(static_cast<Index>(split.threshold), value);
    }
};

constexpr Index ROWS_IN_CACHE = 256;  // rows that pass a tree before the next tree's nodes are needed
constexpr Index TOGETHER = 8;         // rows traversed at a time, to hide memory latency
constexpr Index FEW_ROWS = 8;         // rows for which packing the nodes takes longer than it saves

// Add the leaf of each tree to the score of one row, from unpacked arrays.
template <class Rule, class Value, class Real, class Score>
inline void add_leaves_of_row(const Rule& goes_left, View<const Value> row, const FlatTrees<Real>& trees,
                              Score& score) {
    for (Index tree = 0; tree < trees.n_trees(); ++tree) {
        Index node = trees.starts[tree];
        while (!trees.is_leaf(node)) {
            const auto value = static_cast<Real>(row[trees.features[node]]);
            node = goes_left(value, trees.split(node)) ? trees.left[node] : trees.right[node];
        }
        score = static_cast<Score>(score + trees.values[node]);
    }
}

// Add the leaf of one tree to the scores of all rows, a few at a time.
template <class Rule, class Value, class Real, class Score>
PLACKETT_APART inline void add_leaves_of_tree(const Rule& goes_left, Rows<const Value> X, View<const Node<Real>> nodes,
                               View<const Real> values, View<Score> scores) {
    for (Index start = 0; start < X.n_rows; start += TOGETHER) {
        const Index n = std::min(TOGETHER, X.n_rows - start);
        const Value* rows[TOGETHER];
        std::int32_t at[TOGETHER] = {};
        for (Index r = 0; r < TOGETHER; ++r) rows[r] = X[start + std::min(r, n - 1)].data;
        std::int32_t moved = 1;
        while (moved != 0) {
            moved = 0;
            for (Index r = 0; r < TOGETHER; ++r) {
                const Node<Real>& node = nodes[at[r]];
                check_index(node.feature, X.n_columns);
                const auto value = static_cast<Real>(rows[r][node.feature]);
                // by index, as a branch would be mispredicted half of the time
                const std::int32_t next = node.next[!goes_left(value, node)];
                moved |= next ^ at[r];
                at[r] = next;
            }
        }
        for (Index r = 0; r < n; ++r)
            scores[start + r] = static_cast<Score>(scores[start + r] + values[at[r]]);
    }
}

// Add the leaves of all trees to the `scores` of each row. `nodes` are the trees' nodes, packed; empty for a few rows.
template <class Rule, class Value, class Real, class Score>
inline void add_leaves(const Rule& goes_left, Rows<const Value> X, const FlatTrees<Real>& trees,
                       View<const Node<Real>> nodes, View<Score> scores) {
    if (nodes.size == 0) {
        for (Index row = 0; row < X.n_rows; ++row) add_leaves_of_row(goes_left, X[row], trees, scores[row]);
        return;
    }
    for (Index tree = 0; tree < trees.n_trees(); ++tree) {
        const Index start = trees.starts[tree], stop = trees.starts[tree + 1];
        const View<const Real> values = trees.values.slice(start, stop);
        if (stop - start == 1)
            for (Index row = 0; row < X.n_rows; ++row) scores[row] = static_cast<Score>(scores[row] + values[0]);
        else
            add_leaves_of_tree(goes_left, X, nodes.slice(start, stop), values, scores);
    }
}

template <class Value>
inline bool has_missing(View<const Value> values) {
    int found = 0;
#pragma omp simd reduction(| : found)
    for (Index i = 0; i < values.size; ++i) found |= values.data[i] != values.data[i];
    return found != 0;
}

// As add_leaves, by a faster rule if no value is missing. `values` are all values of the rows, or those stored.
template <class Rule, class Value, class Stored, class Real, class Score>
inline void add_leaves_checked(const Rule& goes_left, View<const Stored> values, Rows<const Value> X,
                               const FlatTrees<Real>& trees, View<const Node<Real>> nodes, View<Score> scores) {
    if constexpr (std::is_same_v<Rule, Compared<false>>) {
        const bool is_fast = values.size <= X.n_rows * trees.features.size;  // to look at all values
        if (is_fast && !has_missing(values)) {
            add_leaves(AtMost{}, X, trees, nodes, scores);
            return;
        }
    }
    add_leaves(goes_left, X, trees, nodes, scores);
}

template <class Real>
inline Scratch<Node<Real>> packed(const FlatTrees<Real>& trees, Index n_rows) {
    const bool is_worth_it = n_rows > FEW_ROWS;
    Scratch<Node<Real>> nodes(is_worth_it ? trees.features.size : 0);
    if (is_worth_it) pack(trees, nodes.view());
    return nodes;
}

template <class Rule, class Value, class Real, class Score>
inline void add_leaves_dense(const Rule& goes_left, Rows<const Value> X, const FlatTrees<Real>& trees,
                             View<Score> scores) {
    const Scratch<Node<Real>> nodes = packed(trees, X.n_rows);
    for (Index first = 0; first < X.n_rows; first += ROWS_IN_CACHE) {
        const Index last = std::min(first + ROWS_IN_CACHE, X.n_rows);
        const Rows<const Value> rows = X.slice(first, last);
        add_leaves_checked(goes_left, View<const Value>{rows.data, rows.n_rows * rows.n_columns}, rows, trees,
                           View<const Node<Real>>(nodes), scores.slice(first, last));
    }
}

// As add_leaves_dense for rows of a CSR matrix, converted to as many dense rows at a time as fit into the cache.
template <class Rule, class Value, class Place, class Score>
inline void add_leaves_sparse(const Rule& goes_left, View<const Value> data, View<const Place> indices,
                              View<const Place> indptr, Index n_features, const FlatTrees<double>& trees,
                              View<Score> scores) {
    constexpr Index VALUES_IN_CACHE = 1 << 15;
    const Index n_rows = indptr.size - 1;
    const Index n_dense = std::clamp<Index>(VALUES_IN_CACHE / std::max<Index>(n_features, 1), 1, ROWS_IN_CACHE);
    const Scratch<Node<double>> nodes = packed(trees, n_dense > FEW_ROWS ? n_rows : 0);
    const Scratch<double> dense(n_dense * n_features, 0.0);
    for (Index first = 0; first < n_rows; first += n_dense) {
        const Index last = std::min(first + n_dense, n_rows);
        const Rows<double> rows{dense.view().data, last - first, n_features};
        for (Index row = first; row < last; ++row)
            for (Index place = indptr[row]; place < indptr[row + 1]; ++place)
                rows(row - first, indices[place]) += static_cast<double>(data[place]);
        add_leaves_checked(goes_left, data.slice(indptr[first], indptr[last]), Rows<const double>(rows), trees,
                           View<const Node<double>>(nodes), scores.slice(first, last));
        for (Index row = first; row < last; ++row)
            for (Index place = indptr[row]; place < indptr[row + 1]; ++place) rows(row - first, indices[place]) = 0.0;
    }
}

}  // namespace plackett::trees
