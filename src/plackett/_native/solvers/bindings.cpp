// Bindings of solvers.
#include "core/bind.hpp"

namespace plackett {

void bind_solvers([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
