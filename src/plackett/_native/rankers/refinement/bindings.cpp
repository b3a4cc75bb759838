// Bindings of refinement and recommendation.
#include "core/bind.hpp"

namespace plackett {

void bind_refinement([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
