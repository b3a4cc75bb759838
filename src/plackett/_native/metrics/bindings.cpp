// Bindings of measures.
#include "core/bind.hpp"

namespace plackett {

void bind_metrics([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
