// Bindings of personality diagnosis.
#include "core/bind.hpp"
#include "rankers/recommendation/personality.hpp"

namespace plackett {

void bind_recommendation(const Module& module) {
    using namespace recommendation;
    module.set("EXPECTED", EXPECTED);
    module.set("MOST_PROBABLE", MOST_PROBABLE);
    define<&diagnose>(module, "diagnose_personality",
                      "first last who starts stops targets wanted indptr items ratings left_out log_p p levels "
                      "expected cell_ptr raters n_raters answer out");
}

}  // namespace plackett
