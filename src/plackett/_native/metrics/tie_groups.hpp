// Documents of one list with equal scores, where ties are averaged: every place of a group gets the group's expectation.
#pragma once
#include "core/arrays.hpp"

namespace plackett::metrics {

// Where the tie group of each place of one list ends; empty where each document stands alone.
template <class T>
struct TieGroups {
    View<T> ends;

    bool empty() const { return ends.size == 0; }
    Index stop(Index place) const { return ends.size > 0 ? Index{ends[place]} : place + 1; }
};

// The groups of list q, of n_docs documents; empty where ties are not averaged or the list has none.
//
// group_end holds a 1 for each list with ties and a 0 for others, then the group ends of all rows. Those of lists
// without ties are never touched: memory that is only reserved costs nothing.
template <class T>
inline TieGroups<T> own_groups(View<T> group_end, View<const Index> indptr, Index q, Index n_docs) {
    if (group_end.size == 0 || group_end[q] == 0) return {{group_end.data, 0}};
    const Index start = indptr.size - 1 + indptr[q];
    return {group_end.slice(start, start + n_docs)};
}

}  // namespace plackett::metrics
