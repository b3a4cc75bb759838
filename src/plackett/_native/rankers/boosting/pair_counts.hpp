// Pairs of different labels that a ranking orders as the labels do, and in reverse.
#pragma once
#include <bit>
#include <utility>

#include "core/arrays.hpp"

namespace plackett::boosting {

// For documents in descending order of labels: bounds of each document's label level within its list.
struct LevelBounds {
    View<const Index> start, end;

    LevelBounds slice(Index first, Index last) const { return {start.slice(first, last), end.slice(first, last)}; }
};

// Counts for lists of at most `longest` documents. Documents are visited in ascending order of rank. A bit set has the
// visited ones; `groups` has how many of them are in earlier groups of eight words, and `below` how many in earlier words
// of the same group.
class PairCounter {
public:
    explicit PairCounter(Index longest)
        : bits(WORDS * groups_of(longest)), below(WORDS * groups_of(longest)), groups(groups_of(longest)) {}

    // Pairs in the right and in the wrong order; ties count as neither. `sequence` has the documents in ascending order of
    // rank. Only pairs whose better document is among the first `top` count.
    std::pair<Index, Index> operator()(View<const Index> sequence, View<const std::int32_t> ranks, LevelBounds levels,
                                       Index top) const {
        const Index n = sequence.size, n_groups = groups_of(n);
        bits.slice(0, WORDS * n_groups).fill(0);
        below.slice(0, WORDS * n_groups).fill(0);
        groups.slice(0, n_groups).fill(0);
        Index right = 0, wrong = 0;
        for (Index i = 0; i < n;) {
            const std::int32_t tied = ranks[sequence[i]];
            Index j = i;
            for (; j < n && ranks[sequence[j]] == tied; ++j) {
                const Index doc = sequence[j], start = levels.start[doc], end = levels.end[doc];
                Index above = taken_before(std::min(start, top));
                wrong += above;
                if (doc < top) {
                    if (end - start > 1) above = taken_before(end);
                    right += i - above;
                }
            }
            for (; i < j; ++i) take(sequence[i], n_groups);
        }
        return {right, wrong};
    }

private:
    static constexpr Index WORDS = 8;  // per group

    static Index groups_of(Index n) { return (n >> 9) + 1; }

    Index taken_before(Index place) const {
        const Index word = place >> 6;
        const std::uint64_t mask = (std::uint64_t{1} << (place & 63)) - 1;
        return groups[word >> 3] + below[word] + std::popcount(bits[word] & mask);
    }

    void take(Index doc, Index n_groups) const {
        const Index word = doc >> 6;
        bits[word] |= std::uint64_t{1} << (doc & 63);
        for (Index later = word + 1; later <= (word | (WORDS - 1)); ++later) ++below[later];
        for (Index group = (word >> 3) + 1; group < n_groups; ++group) ++groups[group];
    }

    Scratch<std::uint64_t> bits;
    Scratch<Index> below, groups;
};

}  // namespace plackett::boosting
