// Sessions grouped by query, and hash tables over them. All pairs of a query are consecutive, so that a block of whole
// queries owns its pairs.
#pragma once
#include <cstdint>
#include <vector>

#include "core/arrays.hpp"

namespace plackett::clicks {

using Code = std::int32_t;

// A log as the kernels see it: session s showed rows indptr[s] to indptr[s + 1].
struct Sessions {
    View<const Index> indptr;
    View<const Code> pair;
    View<const bool> click;

    Index length(Index session) const { return indptr[session + 1] - indptr[session]; }
    View<const Code> pairs_of(Index session) const { return pair.slice(indptr[session], indptr[session + 1]); }
    View<const bool> clicks_of(Index session) const { return click.slice(indptr[session], indptr[session + 1]); }
};

// Sort sessions by query (counting sort): sessions of query q become order[bounds[q]] to order[bounds[q + 1] - 1].
inline void order_by_query(View<const Code> session_query, View<Index> bounds, View<Code> order) {
    bounds.fill(0);
    for (const Code query : session_query) ++bounds[query + 1];
    for (Index q = 1; q < bounds.size; ++q) bounds[q] += bounds[q - 1];
    Scratch<Index> next(bounds.size);
    std::copy(bounds.begin(), bounds.end(), next.view().begin());
    for (Index s = 0; s < session_query.size; ++s) order[next[session_query[s]]++] = static_cast<Code>(s);
}

inline std::uint64_t mixed(std::uint64_t key) {
    key ^= key >> 32;
    key *= 0xD6E8FEB86659FD93u;
    key ^= key >> 32;
    return key;
}

// A hash table of positions with open addressing, emptied for every query.
class Table {
public:
    void reset(Index n_at_most) {
        std::size_t size = 16;
        while (size < 2 * static_cast<std::size_t>(n_at_most)) size *= 2;
        places.assign(size, -1);
    }
    // Return the position of an equal entry, or `next` after storing it for a new entry.
    template <class IsEqual>
    Index find(std::uint64_t hash, Index next, const IsEqual& is_equal) {
        const std::size_t mask = places.size() - 1;
        for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
            if (places[slot] < 0) {
                places[slot] = static_cast<Code>(next);
                return next;
            }
            if (is_equal(places[slot])) return places[slot];
        }
    }

private:
    std::vector<Code> places;
};

}  // namespace plackett::clicks
