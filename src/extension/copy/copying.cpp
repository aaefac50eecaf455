// Implements copies, and which of them go through a device driver.
#include "extension/copy/copying.hpp"

#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/signals.hpp"
#include "extension/devices/devices.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

/// Waits, without the GIL, for device work on memory that the CPU is about to use.
[[gnu::noinline]] void wait_for_devices(const core::ArrayView& array, bool writes) {
  if (!runtime::is_busy(array)) return;
  const DriverCalls here;
  runtime::wait_on_host(array, writes);
}

[[gnu::noinline]] void copy_by_device(const core::ArrayView& dst, const core::ArrayView& src) {
  const DriverCalls here;
  runtime::copy(dst, src);
}

}  // namespace

void copy_elements(const core::ArrayView& dst, const core::ArrayView& src) {
  if (!dst.device().is_host() || !src.device().is_host()) [[unlikely]] {
    return copy_by_device(dst, src);
  }
  require_host(dst, "copying elements");
  require_host(src, "copying elements");
  run_interruptibly(dst.nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::copy(dst, src, interrupt);
  });
}

core::Array copy_to_new(const core::ArrayView& array, const core::DType& dtype,
                        const core::Device& device) {
  if (device == core::Device{}) [[likely]] {
    core::Array out = core::new_array(dtype, array.extents(), /*zeroed=*/false);
    copy_elements(out, array);
    return out;
  }
  Unfinished out(allocate_on(device, dtype, array.extents(), /*zeroed=*/false));
  copy_elements(out.array(), array);
  return out.finish();
}

Unfinished::~Unfinished() { drop_storage(std::move(array_.storage)); }

core::Array copy_to_new_on(const core::ArrayView& array, const core::Device& device,
                           const runtime::StreamPtr& stream) {
  const DriverCalls here;
  core::Array out =
      runtime::new_array(array.dtype, array.extents(), device, /*zeroed=*/false, stream);
  if (out.view().device().is_host() && array.device().is_host()) {
    runtime::wait_on_host(array, /*writes=*/false);
    core::copy(out, array);
  } else {
    runtime::copy(out, array, stream);
  }
  return out;
}

core::Array allocate_on(const core::Device& device, const core::DType& dtype, core::Extents shape,
                        bool zeroed) {
  if (device == core::Device{}) [[likely]]
    return core::new_array(dtype, shape, zeroed);
  const DriverCalls here;
  return runtime::new_array(dtype, shape, device, zeroed);
}

void require_host(const core::ArrayView& array, const char* operation, bool writes) {
  const core::Device device = array.device();
  if (device == core::Device{}) [[likely]]
    return;
  if (!device.is_host()) {
    core::fail(core::Fault::kBuffer, operation,
               " needs memory that the CPU can read; the array is on ", core::name(device),
               "; x.to_device(\"cpu\") makes a copy there");
  }
  wait_for_devices(array, writes);
}

core::ArrayView to_readable(const core::ArrayView& array, const char* operation,
                            core::Array& owner) {
  if (array.device().is_host()) {
    require_host(array, operation, /*writes=*/false);
    return array;
  }
  owner = copy_to_new(array, array.dtype);
  return owner;
}

}  // namespace refarray::extension
