// Bindings of feature ranking discovery, RankBoost, PRank and SVM-map.
#include "core/bind.hpp"

namespace plackett {

void bind_boosting([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
