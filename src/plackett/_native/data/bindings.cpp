// Bindings of readers, writers and normalisers.
#include "core/bind.hpp"

namespace plackett {

void bind_data([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
