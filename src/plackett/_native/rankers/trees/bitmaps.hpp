// Scores of a block of rows by trees, with one bit per row: a split divides the bits of the rows that reach it.
//
// Every distinct condition of the trees has a slot, the bits of the rows that take the left branch. The slots of a feature are
// in order of their thresholds: a row is searched for once, its bit is set in the first slot that lets it pass, and
// each slot takes over the bits of the one before. A tree then needs two operations per split for all rows of the block.
// The number of the leaf of each row is found bit by bit too, before the leaves are added in the order of the trees.
#pragma once
#include <array>
#include <cmath>
#include <limits>

#include "rankers/trees/nodes.hpp"

namespace plackett::trees {

using Word = std::uint64_t;
constexpr Index WORD = 64;      // rows per word
constexpr Index MOST_WORDS = 4;  // of a block
constexpr Index AT_ONCE = 8;    // rows that are searched for together, to hide the latency of loads

template <int n_words>
struct Bits {
    Word words[n_words];

    void set(Index row) { words[row / WORD] |= Word{1} << (row % WORD); }
    void add(const Bits& other) {
        for (int w = 0; w < n_words; ++w) words[w] |= other.words[w];
    }
    Bits with(const Bits& other) const {
        Bits found;
        for (int w = 0; w < n_words; ++w) found.words[w] = words[w] & other.words[w];
        return found;
    }
    Bits without(const Bits& other) const {
        Bits found;
        for (int w = 0; w < n_words; ++w) found.words[w] = words[w] & ~other.words[w];
        return found;
    }
};

// Conditions of group g are slots group_starts[g] to group_starts[g + 1], those of numbers in rising order.
struct Conditions {
    View<const std::int32_t> features;  // of the groups
    View<const std::uint8_t> kinds;     // of the groups
    View<const Index> group_starts;
    View<const double> thresholds;  // of the slots; for categories the number of the set
    View<const bool> missing_left;
    CodeSets sets;
    double zero_width;
};

// Splits of tree t are node_starts[t] to node_starts[t + 1], its leaves leaf_starts[t] to leaf_starts[t + 1]. Left and right
// are places in the tree, at which its splits come first and its leaves follow; the children of a split come after it.
struct SlotTrees {
    View<const Index> node_starts;
    View<const std::int32_t> slots, left, right;
    View<const Index> leaf_starts;
    View<const double> values;
};

// Values of one feature. Missing ones become infinite, which no threshold lets pass; `missing` gets their bits.
template <int n_words, class Value>
inline bool load_column(Rows<const Value> X, Index feature, std::uint8_t kind, double zero_width,
                        std::array<double, MOST_WORDS * WORD>& column, Bits<n_words>& missing) {
    const Value* values = X.data + feature;
    check_index(feature, X.n_columns);
    int has_missing = 0;
    for (Index row = 0; row < X.n_rows; ++row) {
        const auto value = static_cast<double>(values[row * X.n_columns]);
        column[row] = value;
        has_missing |= (value != value) | ((kind == ZERO_IS_MISSING) & (std::abs(value) <= zero_width));
    }
    for (Index row = X.n_rows; row % AT_ONCE != 0; ++row) column[row] = 0.0;  // so that whole groups can be searched for
    if (has_missing == 0) return false;
    missing = {};
    for (Index row = 0; row < X.n_rows; ++row) {
        const double value = column[row];
        if (value == value && !(kind == ZERO_IS_MISSING && std::abs(value) <= zero_width)) continue;
        missing.set(row);
        column[row] = std::numeric_limits<double>::infinity();
    }
    return true;
}

// Set the bit of each row in the first slot whose threshold is not below its value.
template <int n_words>
inline void set_first_slots(View<const double> thresholds, const std::array<double, MOST_WORDS * WORD>& column,
                            Index n_rows, View<Bits<n_words>> slots) {
    for (Index first = 0; first < n_rows; first += AT_ONCE) {
        Index at[AT_ONCE] = {};
        for (Index length = thresholds.size; length > 1;) {
            const Index half = length / 2;
            for (Index r = 0; r < AT_ONCE; ++r)
                at[r] += thresholds[at[r] + half - 1] < column[first + r] ? half : 0;
            length -= half;
        }
        const Index n = std::min(AT_ONCE, n_rows - first);
        for (Index r = 0; r < n; ++r) {
            const Index slot = at[r] + (thresholds[at[r]] < column[first + r]);
            if (slot < thresholds.size) slots[slot].set(first + r);
        }
    }
}

template <int n_words, class Value>
inline void fill_slots(const Conditions& conditions, Rows<const Value> X, View<Bits<n_words>> all_slots) {
    std::array<double, MOST_WORDS * WORD> column;
    Bits<n_words> missing{};
    all_slots.fill({});
    for (Index group = 0; group < conditions.features.size; ++group) {
        const Index start = conditions.group_starts[group], stop = conditions.group_starts[group + 1];
        const auto slots = all_slots.slice(start, stop);
        const std::uint8_t kind = conditions.kinds[group];
        const bool has_missing =
            load_column(X, conditions.features[group], kind, conditions.zero_width, column, missing);
        if (kind == CATEGORY)
            for (Index s = 0; s < slots.size; ++s) {
                const auto set = static_cast<Index>(conditions.thresholds[start + s]);
                for (Index row = 0; row < X.n_rows; ++row)
                    if (conditions.sets.contains(set, column[row])) slots[s].set(row);
            }
        else {
            set_first_slots(conditions.thresholds.slice(start, stop), column, X.n_rows, slots);
            for (Index s = 1; s < slots.size; ++s) slots[s].add(slots[s - 1]);
        }
        if (has_missing)
            for (Index s = 0; s < slots.size; ++s)
                if (conditions.missing_left[start + s]) slots[s].add(missing);
    }
}

// The bits of a byte, each in a byte of its own.
inline constexpr auto SPREAD = [] {
    std::array<Word, 256> spread{};
    for (Word byte = 0; byte < 256; ++byte)
        for (int bit = 0; bit < 8; ++bit) spread[byte] |= (byte >> bit & 1) << (8 * bit);
    return spread;
}();

// Add the value of each row's leaf, whose number has bit p in planes[p].
template <int n_words, class Score>
inline void add_numbered(const Bits<n_words>* planes, int n_planes, View<const double> values, View<Score> scores) {
    if (n_planes > 8) {
        for (Index row = 0; row < scores.size; ++row) {
            Index leaf = 0;
            for (int p = 0; p < n_planes; ++p)
                leaf |= static_cast<Index>(planes[p].words[row / WORD] >> (row % WORD) & 1) << p;
            scores[row] = static_cast<Score>(scores[row] + values[leaf]);
        }
        return;
    }
    for (Index first = 0; first < scores.size; first += 8) {
        Word leaves = 0;  // of eight rows, a byte each
        for (int p = 0; p < n_planes; ++p) leaves |= SPREAD[planes[p].words[first / WORD] >> (first % WORD) & 255] << p;
        const auto add = [&](Index n) {
            for (Index r = 0; r < n; ++r) {
                const auto leaf = static_cast<Index>(leaves >> (8 * r) & 255);
                scores[first + r] = static_cast<Score>(scores[first + r] + values[leaf]);
            }
        };
        if (scores.size - first >= 8)
            add(8);
        else
            add(scores.size - first);
    }
}

template <int n_words, class Score>
inline void add_trees(const SlotTrees& trees, View<const Bits<n_words>> slots, View<Bits<n_words>> places,
                      View<Score> scores) {
    Bits<n_words> planes[32];
    for (Index tree = 0; tree + 1 < trees.node_starts.size; ++tree) {
        const Index start = trees.node_starts[tree], n_splits = trees.node_starts[tree + 1] - start;
        const auto values = trees.values.slice(trees.leaf_starts[tree], trees.leaf_starts[tree + 1]);
        places[0] = {};
        for (Word& word : places[0].words) word = ~Word{0};
        for (Index split = 0; split < n_splits; ++split) {
            const Bits<n_words> here = places[split], left = slots[trees.slots[start + split]];
            places[trees.left[start + split]] = here.with(left);
            places[trees.right[start + split]] = here.without(left);
        }
        // Bit p of the numbers of the leaves: the odd ones of groups of 2^p leaves, which are joined step by step.
        int n_planes = 0;
        while ((Index{1} << n_planes) < values.size) ++n_planes;
        Index n = Index{1} << n_planes;
        const auto leaves = places.slice(n_splits, n_splits + n);
        leaves.slice(values.size, n).fill({});
        for (int p = 0; p < n_planes; ++p) {
            n /= 2;
            planes[p] = {};
            for (Index k = 0; k < n; ++k) {
                const Bits<n_words> odd = leaves[2 * k + 1];
                planes[p].add(odd);
                leaves[k] = leaves[2 * k];
                leaves[k].add(odd);
            }
        }
        add_numbered(planes, n_planes, values, scores);
    }
}

template <int n_words, class Value, class Score>
inline void add_block(const Conditions& conditions, const SlotTrees& trees, Index n_places, Rows<const Value> X,
                      View<Score> scores) {
    const Scratch<Bits<n_words>> slots(conditions.thresholds.size), places(n_places);
    fill_slots<n_words>(conditions, X, slots.view());
    add_trees<n_words>(trees, slots, places.view(), scores);
}

// Add the leaves of all trees to the scores. `n_places` is the largest number of splits of a tree, plus the number of its
// leaves, rounded up to a power of two.
template <class Value, class Score>
void tree_bitmap_scores(Rows<const Value> X, View<const std::int32_t> group_features,
                        View<const std::uint8_t> group_kinds, View<const Index> group_starts,
                        View<const double> thresholds, View<const bool> missing_left, View<const Index> set_starts,
                        View<const std::uint32_t> sets, double zero_width, View<const Index> node_starts,
                        View<const std::int32_t> slots, View<const std::int32_t> left,
                        View<const std::int32_t> right, View<const Index> leaf_starts, View<const double> values,
                        Index n_places, View<Score> scores) {
    const Conditions conditions{group_features, group_kinds, group_starts, thresholds,
                                missing_left,   {set_starts, sets}, zero_width};
    const SlotTrees trees{node_starts, slots, left, right, leaf_starts, values};
    for (Index first = 0; first < X.n_rows; first += MOST_WORDS * WORD) {
        const Index last = std::min(first + MOST_WORDS * WORD, X.n_rows);
        const Rows<const Value> rows = X.slice(first, last);
        const View<Score> own = scores.slice(first, last);
        if (rows.n_rows <= WORD)
            add_block<1>(conditions, trees, n_places, rows, own);
        else if (rows.n_rows <= 2 * WORD)
            add_block<2>(conditions, trees, n_places, rows, own);
        else
            add_block<4>(conditions, trees, n_places, rows, own);
    }
}

}  // namespace plackett::trees
