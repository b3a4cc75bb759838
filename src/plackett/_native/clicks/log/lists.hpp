// Shown lists: where damage cuts them, and the clicks on them.
#pragma once
#include <unordered_set>

#include "core/arrays.hpp"

namespace plackett::click_log {

enum Cut : std::uint8_t { WHOLE = 0, GAP = 1, CONFLICT = 2, REPEATED = 3, NO_DOCUMENT = 4 };

// How many documents of each list can be kept, and why not more. The rows of a list are sorted by rank, without repeated
// rows. A list is cut before the first rank that is missing, has two documents, no document, or one that was shown above.
inline void cut_lists(View<const Index> indptr, View<const std::int32_t> rank, View<const std::int32_t> doc,
                      View<Index> n_kept, View<std::uint8_t> why) {
    constexpr Index SHORT = 32;
    std::unordered_set<std::int32_t> seen;
    for (Index i = 0; i < n_kept.size; ++i) {
        const Index start = indptr[i], stop = indptr[i + 1];
        const bool is_long = stop - start > SHORT;
        seen.clear();
        Index row = start;
        Cut cut = WHOLE;
        for (; row < stop && cut == WHOLE; ++row) {
            if (rank[row] != row - start + 1) {
                cut = GAP;
            } else if (row + 1 < stop && rank[row + 1] == rank[row]) {
                cut = CONFLICT;
            } else if (doc[row] < 0) {
                cut = NO_DOCUMENT;
            } else if (is_long) {
                if (!seen.insert(doc[row]).second) cut = REPEATED;
            } else {
                for (Index above = start; above < row; ++above)
                    if (doc[above] == doc[row]) cut = REPEATED;
            }
        }
        n_kept[i] = cut == WHOLE ? stop - start : row - 1 - start;
        why[i] = cut;
    }
}

enum Outcome : std::uint8_t {
    FOUND = 0,         // the document was shown
    BY_POSITION = 1,   // no document, but a position
    ELSEWHERE = 2,     // the document was shown at another position
    NOT_SHOWN = 3,
    NOTHING = 4,       // neither document nor position
    UNKNOWN = 5,       // the session is not known
    AGAIN = 6,         // clicked already
};

// The row of each click event in the lists, -1 for none. `session` is -1 for unknown ones, `doc` for none, `ordinal` is
// negative for none; positions begin at `first`.
inline void find_clicks(View<const Index> indptr, View<const std::int32_t> shown, View<const std::int32_t> session,
                        View<const std::int32_t> doc, View<const std::int32_t> ordinal, Index first, View<Index> row,
                        View<std::uint8_t> outcome) {
    for (Index i = 0; i < session.size; ++i) {
        row[i] = -1;
        if (session[i] < 0) {
            outcome[i] = UNKNOWN;
            continue;
        }
        const Index start = indptr[session[i]], stop = indptr[session[i] + 1];
        const Index place = ordinal[i] < 0 ? -1 : start + ordinal[i] - first;
        const bool is_inside = place >= start && place < stop;
        if (doc[i] < 0) {
            outcome[i] = ordinal[i] < 0 ? NOTHING : is_inside ? BY_POSITION : NOT_SHOWN;
            if (is_inside) row[i] = place;
            continue;
        }
        if (is_inside && shown[place] == doc[i]) {
            row[i] = place;
        } else {
            for (Index at = start; at < stop && row[i] < 0; ++at)
                if (shown[at] == doc[i]) row[i] = at;
        }
        outcome[i] = row[i] < 0 ? NOT_SHOWN : ordinal[i] >= 0 && row[i] != place ? ELSEWHERE : FOUND;
    }
}

}  // namespace plackett::click_log
