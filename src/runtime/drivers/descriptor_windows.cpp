// Windows has no descriptors that drivers share memory by, and no driver gives one there.
#include "core/error.hpp"
#include "runtime/drivers/descriptor.hpp"

namespace refarray::runtime {

Descriptor::Descriptor(int owned) noexcept : number_(owned) {}

Descriptor Descriptor::copy_of(int number) {
  core::fail(core::Fault::kBuffer, "descriptor ", number, " is not open: Windows has none");
}

Descriptor::~Descriptor() = default;

}  // namespace refarray::runtime
