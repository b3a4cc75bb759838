// Tie groups of one list, for averaged ties: every place of a group gets the group's expectation.
#pragma once
#include "core/arrays.hpp"

namespace plackett::metrics {

// The end of the tie group of each place of one list; empty if no documents tie.
template <class T>
struct TieGroups {
    View<T> ends;

    bool empty() const { return ends.size == 0; }
    Index stop(Index place) const { return ends.size > 0 ? Index{ends[place]} : place + 1; }
};

// The groups of list q, of n_docs documents; empty if ties are not averaged or the list has none.
//
// group_end has a 1 for each list with ties and a 0 for others, followed by the group ends of all rows. Those of lists
// without ties are never written, so that their memory is never allocated.
template <class T>
inline TieGroups<T> own_groups(View<T> group_end, View<const Index> indptr, Index q, Index n_docs) {
    if (group_end.size == 0 || group_end[q] == 0) return {{group_end.data, 0}};
    const Index start = indptr.size - 1 + indptr[q];
    return {group_end.slice(start, start + n_docs)};
}

}  // namespace plackett::metrics
