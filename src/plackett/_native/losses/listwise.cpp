// Bindings of listwise losses.
#include "core/bind.hpp"

namespace plackett {

void bind_listwise([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
