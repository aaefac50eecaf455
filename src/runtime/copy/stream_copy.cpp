// copy(): chooses between the driver's copy, staging, kernels and a detour through host memory.
#include "runtime/copy/stream_copy.hpp"

#include "core/copy/copy.hpp"
#include "runtime/copy/device_copy.hpp"
#include "runtime/copy/host_device_copy.hpp"
#include "runtime/copy/operation.hpp"
#include "runtime/device_context.hpp"
#include "runtime/streams/host_access.hpp"
#include "runtime/streams/order.hpp"

namespace refarray::runtime {
namespace {

using core::ArrayView;
using core::DeviceKind;

/// Contiguous transfers below this many bytes go straight to the driver.
constexpr std::int64_t kDriverCopyMax = 64 * 1024;

/// The byte range of an array's elements, relative to array.data.
struct Span {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t size() const noexcept { return end - begin; }
};

Span span_of(const ArrayView& array) {
  core::BitRange bits = core::checked_bit_range(array.extents(), array.stride_span(), array.dtype);
  bits.begin += array.bit;
  bits.end += array.bit;
  return {bits.first_byte(), bits.end_byte()};
}

StreamPtr stream_for(const ArrayView& array, const StreamPtr& wanted) {
  DeviceContext& context = context_of(array.device());
  const bool fits = wanted != nullptr && &wanted->context().driver == &context.driver;
  return fits ? wanted : current_stream_of(context);
}

/// The same elements in memory that the CPU can read; device data is copied to `buffer`.
ArrayView on_host(const ArrayView& array, const StreamPtr& stream, core::Array& buffer) {
  if (!is_on_device(array)) {
    wait_on_host(array, /*writes=*/false);
    return array;
  }
  const Span span = span_of(array);
  const std::int64_t extent[] = {span.size()};
  const core::DType byte{core::Kind::kUInt, 8};
  buffer = core::new_array(byte, extent, /*zeroed=*/false);
  ArrayView from = array;
  from.data += span.begin;
  ArrayView to = buffer;
  copy_bytes(to, from, span.size(), stream_for(array, stream));
  ArrayView out = array;
  out.storage = buffer.storage.get();
  out.data = buffer.data - span.begin;
  out.readonly = false;
  return out;
}

/// Copies through host memory: any layout, any conversion, any two devices. Blocks the host.
void copy_through_host(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  core::Array fetched;
  const ArrayView from = on_host(src, stream, fetched);
  if (!is_on_device(dst)) {
    wait_on_host(dst, /*writes=*/true);
    core::copy(dst, from);
    return;
  }
  const StreamPtr on = stream_for(dst, stream);
  if (is_contiguous(dst)) {
    const core::Array packed = core::new_array(dst.dtype, dst.extents(), /*zeroed=*/false);
    core::copy(packed, from);
    return copy_bytes(dst, packed, dst.nbytes(), on);
  }
  core::Array span_bytes;  // a round trip keeps the bytes between the elements
  const ArrayView to = on_host(dst, on, span_bytes);
  core::copy(to, from);
  const Span span = span_of(dst);
  ArrayView target = dst;
  target.data += span.begin;
  copy_bytes(target, span_bytes, span.size(), on);
}

/// Whether one driver can access both arrays' memory.
bool is_one_driver(const ArrayView& dst, const ArrayView& src) noexcept {
  const auto is_cpu = [](const ArrayView& array) {
    return array.device().kind == DeviceKind::kCpu;
  };
  return is_cpu(dst) || is_cpu(src) || vendor_of(dst.device().kind) == vendor_of(src.device().kind);
}

/// Whether one device's kernels can access both arrays.
bool is_one_device(const ArrayView& dst, const ArrayView& src) noexcept {
  const auto is_managed = [](const ArrayView& array) {
    return array.device().kind == DeviceKind::kCudaManaged;
  };
  return is_managed(dst) || is_managed(src) || dst.device() == src.device();
}

/// Both arrays are not empty. Work runs on `stream` where it belongs to the device that does it.
void copy_elements(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  if (!is_one_driver(dst, src)) return copy_through_host(dst, src, stream);
  DeviceContext& context = is_on_device(dst) ? kernel_context(dst, src) : context_of(src.device());
  const bool is_small = dst.nbytes() < kDriverCopyMax || (is_on_device(dst) && is_on_device(src));
  if (is_small && dst.dtype == src.dtype && is_contiguous(dst) && is_contiguous(src) &&
      !core::may_overlap(dst, src)) {
    return copy_bytes(dst, src, dst.nbytes(), stream_on(context, stream));
  }
  if (!is_on_device(src)) {
    if (!copy_to_device(dst, src, stream)) copy_through_host(dst, src, stream);
  } else if (!is_on_device(dst)) {
    if (!copy_to_host(dst, src, stream)) copy_through_host(dst, src, stream);
  } else if (!has_kernels(context) || !has_kernels(context_of(src.device()))) {
    copy_through_host(dst, src, stream);
  } else if (is_one_device(dst, src)) {
    copy_by_kernels(dst, src, stream);
  } else {
    copy_between(dst, src, stream);
  }
}

/// The work may have run on other streams, because `wanted` belongs to another device.
void make_stream_wait_for(const ArrayView& dst, const StreamPtr& wanted) {
  TrackedStorage* storage = tracked(dst.storage);
  if (wanted == nullptr || storage == nullptr) return;
  DeviceContext& context = wanted->context();
  if (context.driver.vendor != vendor_of(dst.device().kind)) return;
  const DeviceGuard on_device(context);
  storage->pending.make_stream_wait(context, StreamKey(*wanted), /*writes=*/false);
}

}  // namespace

void copy(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  core::check_copy(dst, src);
  if (dst.size() == 0) return;
  copy_elements(dst, src, stream);
  make_stream_wait_for(dst, stream);
}

}  // namespace refarray::runtime
