// Bindings of the fused pass over X.
#include "core/bind.hpp"

namespace plackett {

void bind_objective([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
