// Bindings of smooth approximations of metrics.
#include "core/bind.hpp"
#include "losses/smooth/approximate_ranks.hpp"
#include "losses/smooth/neural_sort.hpp"

namespace plackett {

void bind_smooth(const Module& module) {
    define<&make_approx_ndcg>(module, "approx_ndcg", "indptr gains a");
    define<&make_approx_mrr>(module, "approx_mrr", "indptr gains a");
    define<&make_approx_map>(module, "approx_map", "indptr gains a b");
    define<&make_neural_ndcg>(module, "neural_ndcg", "indptr gains discounts tau k is_transposed max_iter tol");
}

}  // namespace plackett
