// What stands for shared_functions.cpp where src/shared is not built: other systems than Linux, and
// pointers of 32 bits.
#include "extension/shared/shared_functions.hpp"

namespace refarray::extension {

bool is_in_arena(const core::ArrayView&) noexcept { return false; }

PyMethodDef kSharedFunctions[] = {{nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
