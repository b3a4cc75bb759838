// Bindings of kernels that several rankers share: equal scores and equal rows.
#include "core/bind.hpp"
#include "rankers/tied_scores.hpp"

namespace plackett {

void bind_rankers(const Module& module) {
    define<&spread_ties>(module, "spread_ties", "order starts base query_of most scores");
    define<&row_keys<float>, &row_keys<double>>(module, "row_keys", "rows keys");
}

}  // namespace plackett
