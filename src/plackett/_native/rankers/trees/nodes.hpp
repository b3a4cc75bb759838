// Trees in flat arrays. Tree t owns nodes starts[t] to starts[t + 1], its root first, and children have larger numbers
// than their parents. A node with feature -1 is a leaf. Callers have checked all that.
#pragma once
#include "core/arrays.hpp"

namespace plackett::trees {

// Real is the precision of thresholds and leaves: double, or float for trees that are exported to engines that use it.
template <class Real>
struct FlatTrees {
    View<const Index> starts, features;
    View<const Real> thresholds;
    View<const Index> left, right;
    View<const Real> values;
    View<const bool> zeros_left;  // empty where a 0 is a number like any other

    Index n_trees() const { return starts.size - 1; }
    bool is_leaf(Index node) const { return features[node] < 0; }
};

// How far each node is from the root of its tree, and how often the children of others lead to it.
inline void tree_depths(View<const Index> features, View<const Index> left, View<const Index> right, View<Index> depths,
                        View<Index> visits) {
    depths.fill(0);
    visits.fill(0);
    for (Index node = 0; node < features.size; ++node) {
        if (features[node] < 0) continue;
        for (const Index child : {left[node], right[node]}) {
            depths[child] = depths[node] + 1;
            ++visits[child];
        }
    }
}

// A node with all that a step needs side by side, on one or two lines of the cache. A leaf leads to itself: rows that
// have arrived can go on with those that have not.
template <class Real>
struct Node {
    Real threshold;
    std::int32_t feature, next[2];  // left and right, numbers within the tree
    bool zeros_left;
};

template <class Real>
inline void pack(const FlatTrees<Real>& trees, View<Node<Real>> nodes) {
    for (Index tree = 0; tree < trees.n_trees(); ++tree) {
        const Index root = trees.starts[tree];
        for (Index node = root; node < trees.starts[tree + 1]; ++node) {
            const bool is_leaf = trees.is_leaf(node);
            nodes[node] = {is_leaf ? Real{0} : trees.thresholds[node],
                           static_cast<std::int32_t>(is_leaf ? 0 : trees.features[node]),
                           {static_cast<std::int32_t>((is_leaf ? node : trees.left[node]) - root),
                            static_cast<std::int32_t>((is_leaf ? node : trees.right[node]) - root)},
                           trees.zeros_left.size > 0 && trees.zeros_left[node]};
        }
    }
}

}  // namespace plackett::trees
