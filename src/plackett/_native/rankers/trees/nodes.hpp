// Trees in flat arrays. Tree t has nodes starts[t] to starts[t + 1], its root first, and children have larger numbers
// than their parents. A node with feature -1 is a leaf. Callers have checked this.
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
    View<const bool> zeros_left;  // empty if zeros are not special

    Index n_trees() const { return starts.size - 1; }
    bool is_leaf(Index node) const { return features[node] < 0; }
};

// The depth of each node in its tree, and how often it is the child of another.
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

// A node with all data of a step, in one or two cache lines. A leaf is its own child, so that rows that have reached a leaf
// can continue with those that have not.
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
