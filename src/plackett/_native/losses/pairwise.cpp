// Bindings of pairwise losses.
#include "core/bind.hpp"

namespace plackett {

void bind_pairwise([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
