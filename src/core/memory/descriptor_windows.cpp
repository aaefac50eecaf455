// Windows has no descriptors that drivers share memory by, and no driver gives one there.
#include "core/error.hpp"
#include "core/memory/descriptor.hpp"

namespace refarray::core {

Descriptor Descriptor::close_on_exec(int owned) noexcept { return Descriptor(owned); }

Descriptor Descriptor::copy_of(int number) {
  fail(Fault::kBuffer, "descriptor ", number, " is not open: Windows has none");
}

Descriptor::~Descriptor() = default;

}  // namespace refarray::core
