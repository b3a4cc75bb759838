// Bindings of PRank and SVM-map.
#include "core/bind.hpp"
#include "rankers/linear/prank.hpp"
#include "rankers/linear/svm_map.hpp"

namespace plackett {

void bind_linear(const Module& module) {
    using namespace linear;
    using std::int32_t, std::int64_t;
    define<&prank_pass_dense<float>, &prank_pass_dense<double>>(
        module, "prank_pass_dense", "X levels order step coef moved_coef thresholds moved");
    define<&prank_pass_sparse<float, int32_t>, &prank_pass_sparse<float, int64_t>,
           &prank_pass_sparse<double, int32_t>, &prank_pass_sparse<double, int64_t>>(
        module, "prank_pass_sparse", "data indices row_ptr levels order step coef moved_coef thresholds moved");
    define<&find_places>(module, "find_places", "relevant others places");
    define<&most_violated>(module, "most_violated", "scores is_relevant indptr losses pulls");
}

}  // namespace plackett
