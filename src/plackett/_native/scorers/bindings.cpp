// Bindings of linear scores and the way back.
#include "core/bind.hpp"

namespace plackett {

void bind_scorers([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
