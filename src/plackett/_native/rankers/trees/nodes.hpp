// Trees in flat arrays. Tree t has nodes starts[t] to starts[t + 1], its root first, and children have larger numbers
// than their parents. A node with feature -1 is a leaf. Callers have checked this.
#pragma once
#include "core/arrays.hpp"

namespace plackett::trees {

// What a split asks. A missing value is NaN, for ZERO_IS_MISSING also a 0.
enum Kind : std::uint8_t {
    NUMBER = 0,           // left if x <= threshold
    ZERO_IS_MISSING = 1,  // the same, and 0 is missing
    CATEGORY = 2,         // left if the code x is in the set whose number is the threshold
};

template <class Real>
struct Split {
    Real threshold;
    bool missing_left;
    std::uint8_t kind;
};

// Real is the precision of thresholds and leaves: double, or float for trees that are exported to engines that use it.
template <class Real>
struct FlatTrees {
    View<const Index> starts, features;
    View<const Real> thresholds;
    View<const Index> left, right;
    View<const Real> values;
    View<const bool> missing_left;
    View<const std::uint8_t> kinds;  // empty if all are numbers

    Index n_trees() const { return starts.size - 1; }
    bool is_leaf(Index node) const { return features[node] < 0; }
    Split<Real> split(Index node) const {
        return {thresholds[node], missing_left[node], kinds.size > 0 ? kinds[node] : std::uint8_t{NUMBER}};
    }
};

// Sets of category codes, as bits: set s has words starts[s] to starts[s + 1].
struct CodeSets {
    View<const Index> starts;
    View<const std::uint32_t> words;

    // A fraction is cut off. Negative codes and those beyond the last word are in no set.
    bool contains(Index set, double code) const {
        const Index first = starts[set], n_bits = 32 * (starts[set + 1] - first);
        if (!(code >= 0.0 && code < static_cast<double>(n_bits))) return false;
        const auto bit = static_cast<Index>(code);
        return (words[first + bit / 32] >> (bit % 32)) & 1u;
    }
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
    bool missing_left;
    std::uint8_t kind;
};

template <class Real>
inline void pack(const FlatTrees<Real>& trees, View<Node<Real>> nodes) {
    for (Index tree = 0; tree < trees.n_trees(); ++tree) {
        const Index root = trees.starts[tree];
        for (Index node = root; node < trees.starts[tree + 1]; ++node) {
            const bool is_leaf = trees.is_leaf(node);
            const Split<Real> split = is_leaf ? Split<Real>{} : trees.split(node);
            nodes[node] = {split.threshold,
                           static_cast<std::int32_t>(is_leaf ? 0 : trees.features[node]),
                           {static_cast<std::int32_t>((is_leaf ? node : trees.left[node]) - root),
                            static_cast<std::int32_t>((is_leaf ? node : trees.right[node]) - root)},
                           split.missing_left,
                           split.kind};
        }
    }
}

}  // namespace plackett::trees
