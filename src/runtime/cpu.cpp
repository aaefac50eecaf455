// Owns the host's side of the runtime: which devices can be used in this build, and what ordering
// means on them.
#include "refarray/core/error.hpp"
#include "refarray/runtime/runtime.hpp"

namespace refarray::runtime {

bool can_allocate(const core::Device& device) noexcept { return device == core::Device{}; }

core::Array new_array(const core::DType& dtype, core::Extents shape, const core::Device& device,
                      bool zeroed) {
  if (!can_allocate(device)) {
    core::fail(core::Fault::kBuffer, "device ", core::name(device),
               " cannot be allocated on: this build of refarray allocates on cpu; `refarray "
               "doctor` tells more");
  }
  return core::new_array(dtype, shape, zeroed);
}

void order(const core::Device& device,
           const std::optional<std::int64_t>& stream) {  // [3] order streams
  if (!stream) return;  // host memory is always ready: there is no work in flight
  core::fail(core::Fault::kValue, "stream is ", *stream, "; arrays on ", core::name(device),
             " have no streams: only None is allowed");
}

}  // namespace refarray::runtime
