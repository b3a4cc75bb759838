// Bindings of significance tests.
#include "core/bind.hpp"
#include "evaluation/significance.hpp"

namespace plackett {

void bind_evaluation(const Module& module) {
    using namespace evaluation;
    module.set("WORD", WORD);
    define<&signed_sums>(module, "signed_sums", "values sums");
    define<&count_extreme>(module, "count_extreme", "values limits seed first last counts");
    define<&resampled_sums>(module, "resampled_sums", "values seed first last sums");
}

}  // namespace plackett
