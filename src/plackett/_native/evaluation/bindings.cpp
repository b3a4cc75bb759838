// Bindings of significance tests.
#include "core/bind.hpp"

namespace plackett {

void bind_evaluation([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
