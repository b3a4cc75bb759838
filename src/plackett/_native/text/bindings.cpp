// Bindings of search, weighting and text features.
#include "core/bind.hpp"

namespace plackett {

void bind_text([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
