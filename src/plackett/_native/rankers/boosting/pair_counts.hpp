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

// How many documents of each of the first levels were visited. Byte L of a word counts those of the levels up to L, so that
// one addition counts a document; the word is added to wider counts before a byte overflows.
class LevelCounts {
public:
    static constexpr Index MOST = 8;

    void add(Index level) {
        if (n_recent == 255) {
            for (Index other = 0; other < MOST; ++other) before[other] += byte(other);
            recent = n_recent = 0;
        }
        recent += std::uint64_t{0x0101010101010101} << (8 * level);
        ++n_recent;
    }
    Index up_to(Index level) const { return before[level] + byte(level); }

private:
    Index byte(Index level) const { return static_cast<Index>((recent >> (8 * level)) & 255); }

    std::uint64_t recent = 0;
    Index n_recent = 0, before[MOST] = {};
};

// Counts for lists of at most `longest` documents, which are visited in ascending order of rank. With many levels a bit set
// has the visited ones; `groups` has how many of them are in earlier groups of sixteen words, and `below` how many in earlier
// words of the same group. A visit adds to all words of its group, which is one vector: a loop over the later words would
// mispredict its end at almost every document.
class PairCounter {
public:
    explicit PairCounter(Index longest)
        : level_of(longest), bits(WORDS * groups_of(longest)), below(WORDS * groups_of(longest)), groups(groups_of(longest)) {}

    // Pairs in the right and in the wrong order; ties count as neither. `sequence` has the documents in ascending order of
    // rank, and ties(i) says whether the i-th of it has the rank of the one before. Only pairs whose better document is among
    // the first `top` count.
    template <class Ties>
    std::pair<Index, Index> operator()(View<const Index> sequence, Ties ties, LevelBounds levels, Index top) const {
        const Index n_levels = number_levels(levels, sequence.size);
        return n_levels <= LevelCounts::MOST && (top >= sequence.size || levels.start[top] == top)
                   ? by_levels(sequence, ties, top)
                   : by_places(sequence, ties, levels, top);
    }

private:
    static constexpr Index WORDS = 16;  // per group

    static Index groups_of(Index n) { return (n >> 10) + 1; }

    // Number the levels of the documents from the best one, and return how many there are, or too many.
    Index number_levels(LevelBounds levels, Index n) const {
        Index level = 0;
        for (Index start = 0; start < n && level <= LevelCounts::MOST; start = levels.end[start], ++level)
            level_of.slice(start, levels.end[start]).fill(static_cast<std::uint8_t>(level));
        return level;
    }

    // Call visit(first, last) for the runs of documents that tie, in ascending order of rank.
    template <class Ties, class Visit>
    static void each_tie(Index n, Ties ties, Visit visit) {
        for (Index i = 0, j = 0; i < n; i = j) {
            for (++j; j < n && ties(j);) ++j;
            visit(i, j);
        }
    }

    template <class Ties>
    std::pair<Index, Index> by_levels(View<const Index> sequence, Ties ties, Index top) const {
        const Index n_top = top < sequence.size ? level_of[top] : LevelCounts::MOST;  // levels whose documents are in the top
        Index right = 0, wrong = 0;
        LevelCounts visited;
        each_tie(sequence.size, ties, [&](Index first, Index last) {
            for (Index i = first; i < last; ++i) {
                const Index level = level_of[sequence[i]], better = std::min(level, n_top);
                if (better > 0) wrong += visited.up_to(better - 1);
                if (level < n_top) right += first - visited.up_to(level);
            }
            for (Index i = first; i < last; ++i) visited.add(level_of[sequence[i]]);
        });
        return {right, wrong};
    }

    template <class Ties>
    std::pair<Index, Index> by_places(View<const Index> sequence, Ties ties, LevelBounds levels, Index top) const {
        const Index n_groups = groups_of(sequence.size);
        bits.slice(0, WORDS * n_groups).fill(0);
        below.slice(0, WORDS * n_groups).fill(0);
        groups.slice(0, n_groups).fill(0);
        Index right = 0, wrong = 0;
        each_tie(sequence.size, ties, [&](Index first, Index last) {
            for (Index i = first; i < last; ++i) {
                const Index doc = sequence[i], start = levels.start[doc], end = levels.end[doc];
                Index above = taken_before(std::min(start, top));
                wrong += above;
                if (doc < top) {
                    if (end - start > 1) above = taken_before(end);
                    right += first - above;
                }
            }
            for (Index i = first; i < last; ++i) take(sequence[i], n_groups);
        });
        return {right, wrong};
    }

    Index taken_before(Index place) const {
        const Index word = place >> 6;
        const std::uint64_t mask = (std::uint64_t{1} << (place & 63)) - 1;
        return groups[word / WORDS] + below[word] + std::popcount(bits[word] & mask);
    }

    void take(Index doc, Index n_groups) const {
        const Index word = doc >> 6;
        bits[word] |= std::uint64_t{1} << (doc & 63);
        const View<std::int16_t> counts = below.slice(word & -WORDS, (word & -WORDS) + WORDS);
        const auto place = static_cast<std::int16_t>(word % WORDS), n_words = static_cast<std::int16_t>(WORDS);
#pragma omp simd
        for (std::int16_t other = 0; other < n_words; ++other) counts[other] += other > place;
        for (Index group = word / WORDS + 1; group < n_groups; ++group) ++groups[group];
    }

    Scratch<std::uint8_t> level_of;
    Scratch<std::uint64_t> bits;
    Scratch<std::int16_t> below;
    Scratch<Index> groups;
};

}  // namespace plackett::boosting
