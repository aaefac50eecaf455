// Implements copies, and which of them go through a device driver.
#include "extension/copy/copying.hpp"

#include <algorithm>
#include <cstdint>

#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/objects/array_object.hpp"
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

/// What a ledger counts for the copy of `array` to `device`.
core::Entry entry_of(const core::ArrayView& array, const core::Device& device) noexcept {
  return array.device() == device ? core::Entry::kCopy : core::Entry::kTransfer;
}

/// Whether no memory is read but that of one element on the host: the copy fills.
bool is_fill(const core::ArrayView& src) noexcept {
  if (src.device() != core::Device{}) return false;
  return std::ranges::all_of(src.stride_span(), [](std::int64_t stride) { return stride == 0; });
}

/// Notes a transfer, and that the host waits for one of its pageable memory.
[[gnu::cold, gnu::noinline]] void note_transfer(const core::ArrayView& dst,
                                                const core::ArrayView& src) {
  if (dst.device() == src.device() || is_fill(src)) return;
  const bool waits = dst.device() == core::Device{} || src.device() == core::Device{};
  const bool is_host = dst.device().is_host() && src.device().is_host();
  if (waits && !is_host) core::note_attempt(core::Entry::kSynchronization, 0);
  core::note(core::Entry::kTransfer, dst.nbytes());
  if (waits && !is_host) core::note(core::Entry::kSynchronization, 0);
}

}  // namespace

void copy_elements(const core::ArrayView& dst, const core::ArrayView& src) {
  if (entry_of(src, dst.device()) == core::Entry::kCopy)
    core::note(core::Entry::kCopy, dst.nbytes());
  move_elements(dst, src);
}

void move_elements(const core::ArrayView& dst, const core::ArrayView& src) {
  if (core::is_any_ledger_open()) [[unlikely]]
    note_transfer(dst, src);
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
  if (array.device() != device) return working_copy(array, dtype, device);
  // Before the allocation: what is forbidden does not begin.
  core::note_attempt(core::Entry::kCopy, core::nbytes_of(array.size(), dtype));
  core::Array out = working_copy(array, dtype, device);
  core::note(core::Entry::kCopy, out.view().nbytes());
  return out;
}

core::Array working_copy(const core::ArrayView& array, const core::DType& dtype,
                         const core::Device& device) {
  if (array.device() != device && !is_fill(array))
    core::note_attempt(core::Entry::kTransfer, core::nbytes_of(array.size(), dtype));
  if (device == core::Device{}) [[likely]] {
    core::Array out = core::new_array(dtype, array.extents(), /*zeroed=*/false);
    move_elements(out, array);
    return out;
  }
  Unfinished out(allocate_on(device, dtype, array.extents(), /*zeroed=*/false));
  move_elements(out.array(), array);
  return out.finish();
}

Unfinished::~Unfinished() { drop_storage(std::move(array_.storage)); }

core::Array copy_to_new_on(const core::ArrayView& array, const core::Device& device,
                           const runtime::StreamPtr& stream) {
  const core::Entry entry = entry_of(array, device);
  const bool waits = entry == core::Entry::kTransfer &&
                     (device == core::Device{} || array.device() == core::Device{});
  core::note_attempt(entry, array.nbytes());
  if (waits) core::note_attempt(core::Entry::kSynchronization, 0);
  const DriverCalls here;
  core::Array out =
      runtime::new_array(array.dtype, array.extents(), device, /*zeroed=*/false, stream);
  if (out.view().device().is_host() && array.device().is_host()) {
    runtime::wait_on_host(array, /*writes=*/false);
    core::copy(out, array);
  } else {
    runtime::copy(out, array, stream);
  }
  core::note(entry, array.nbytes());
  if (waits) core::note(core::Entry::kSynchronization, 0);
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

void require_computable_memory(const core::ArrayView& array, const char* function, bool writes) {
  const core::Device device = array.device();
  if (device == core::Device{}) [[likely]]
    return;
  if (!device.is_host()) {
    raise(PyExc_NotImplementedError,
          "%s() has no kernel for %s yet; x.to_device(\"cpu\") makes a copy that it takes",
          function, core::name(device).c_str());
  }
  require_host(array, function, writes);
}

runtime::Lent lend_to_host(const core::ArrayView& array, const char* operation, bool writes) {
  require_host(array, operation, writes);
  return runtime::lend(array);
}

core::ArrayView to_readable(const core::ArrayView& array, const char* operation,
                            core::Array& owner) {
  if (array.device().is_host()) {
    require_host(array, operation, /*writes=*/false);
    return array;
  }
  owner = working_copy(array, array.dtype);
  return owner;
}

}  // namespace refarray::extension
