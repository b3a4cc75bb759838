// Bindings of tree traversal.
#include "core/bind.hpp"

namespace plackett {

void bind_trees([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
