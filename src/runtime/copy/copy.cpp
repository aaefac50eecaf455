// Owns copies that involve a device: what they wait for, which way the bytes go, and what they
// leave behind in the books of both arrays.
#include "core/copy/copy.hpp"

#include <algorithm>
#include <exception>

#include "core/error.hpp"
#include "runtime/copy/device_copy.hpp"
#include "runtime/copy/host_device_copy.hpp"
#include "runtime/copy/operation.hpp"
#include "runtime/memory/device_storage.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {
namespace {

using core::ArrayView;
using core::DeviceKind;

/// Bytes of a gapless copy from or to host memory that nothing is faster for than the driver.
constexpr std::int64_t kWorthThought = 64 * 1024;

Address address_of(const ArrayView& array) noexcept {
  return reinterpret_cast<Address>(array.data);
}

/// The bytes that an array touches, from the first to one past the last.
struct Span {
  std::int64_t begin;  // from array.data
  std::int64_t end;
  std::int64_t size() const noexcept { return end - begin; }
};

Span span_of(const ArrayView& array) {
  core::BitRange bits = core::checked_bit_range(array.extents(), array.stride_span(), array.dtype);
  bits.begin += array.bit;
  bits.end += array.bit;
  return {bits.first_byte(), bits.end_byte()};
}

Direction way_of(const ArrayView& dst, const ArrayView& src) noexcept {
  if (dst.device().kind == DeviceKind::kCudaManaged ||
      src.device().kind == DeviceKind::kCudaManaged) {
    return Direction::kAny;
  }
  if (!is_on_device(src)) return Direction::kHostToDevice;
  return is_on_device(dst) ? Direction::kDeviceToDevice : Direction::kDeviceToHost;
}

}  // namespace

bool is_on_device(const ArrayView& array) noexcept { return !array.device().is_host(); }

bool is_gapless(const ArrayView& array) noexcept {
  const bool whole = !array.dtype.is_packed() ||
                     (array.bit == 0 && array.size() * array.dtype.stored_bits() % 8 == 0);
  return whole && core::is_c_contiguous(array.extents(), array.stride_span());
}

Operation::Operation(const ArrayView& dst, const ArrayView& src, StreamPtr stream)
    : stream_(std::move(stream)), dst_(tracked(dst.storage)), src_(tracked(src.storage)) {
  DeviceContext& unit = stream_->unit();
  const OnDevice here(unit);
  // Memory of the CPU's own is waited for by the host, which a graph cannot do.
  pageable_ = dst_ == nullptr || src_ == nullptr;
  const Capture capture = capture_of(unit, stream_->handle());
  if (capture.active && (pageable_ || capture.id == 0)) {
    refuse_capture(unit, stream_->handle(), "a copy from or to pageable host memory");
  }
  capture_ = capture.id;
  if (src_ != nullptr) src_->uses.check_before(unit, stream_->handle(), /*writes=*/false);
  if (dst_ != nullptr) dst_->uses.order_before(unit, stream_->handle(), /*writes=*/true);
  if (src_ != nullptr) src_->uses.order_before(unit, stream_->handle(), /*writes=*/false);
}

void Operation::finish(bool host_is_done) {
  const Use done = mark(stream_, /*writes=*/true, capture_);
  Use read = done;
  read.writes = false;
  if (src_ != nullptr && src_ != dst_) src_->uses.add(read);
  if (dst_ != nullptr) dst_->uses.add(done);
  finished_ = true;
  if (pageable_ && !host_is_done) synchronize(*done.event);
}

Operation::~Operation() {
  if (finished_) return;
  // It failed half-way: what got into the stream must be over before the memory is used again.
  const TryOnDevice here(stream_->unit());
  if (here && capture_ == 0) stream_->unit().api().stream_synchronize(stream_->handle());
}

void copy_bytes(const ArrayView& dst, const ArrayView& src, std::int64_t nbytes,
                const StreamPtr& stream) {
  Operation operation(dst, src, stream);
  DeviceContext& unit = stream->unit();
  const OnDevice here(unit);
  const auto size = static_cast<std::size_t>(nbytes);
  const Direction way = way_of(dst, src);
  const bool peers = way == Direction::kDeviceToDevice && dst.device().id != src.device().id;
  const Status status =
      peers ? unit.api().copy_peer(address_of(dst), dst.device().id, address_of(src),
                                   src.device().id, size, stream->handle())
            : unit.api().copy(address_of(dst), address_of(src), size, way, stream->handle());
  unit.check(status, "copying memory");
  operation.finish();
}

namespace {

StreamPtr stream_for(const ArrayView& array, const StreamPtr& wanted) {
  DeviceContext& unit = unit_of(array.device());
  const bool fits = wanted != nullptr && &wanted->unit().driver == &unit.driver;
  return fits ? wanted : current_stream_of(unit);
}

/// The same elements in memory that the CPU reads; `keeper` has it if it had to be fetched.
ArrayView on_host(const ArrayView& array, const StreamPtr& stream, core::Array& keeper) {
  if (!is_on_device(array)) {
    wait_on_host(array, /*writes=*/false);
    return array;
  }
  const Span span = span_of(array);
  const std::int64_t extent[] = {span.size()};
  const core::DType byte{core::Kind::kUInt, 8};
  keeper = core::new_array(byte, extent, /*zeroed=*/false);
  ArrayView from = array;
  from.data += span.begin;
  ArrayView to = keeper;
  copy_bytes(to, from, span.size(), stream_for(array, stream));
  ArrayView out = array;
  out.storage = keeper.storage.get();
  out.data = keeper.data - span.begin;
  out.readonly = false;
  return out;
}

/// Through host memory: any layout, any conversion, any two devices; the host waits.
void copy_through_host(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  core::Array fetched;
  const ArrayView from = on_host(src, stream, fetched);
  if (!is_on_device(dst)) {
    wait_on_host(dst, /*writes=*/true);
    core::copy(dst, from);
    return;
  }
  const StreamPtr on = stream_for(dst, stream);
  if (is_gapless(dst)) {
    const core::Array packed = core::new_array(dst.dtype, dst.extents(), /*zeroed=*/false);
    core::copy(packed, from);
    return copy_bytes(dst, packed, dst.nbytes(), on);
  }
  core::Array around;  // what lies between the elements is written back as it was
  const ArrayView to = on_host(dst, on, around);
  core::copy(to, from);
  const Span span = span_of(dst);
  ArrayView target = dst;
  target.data += span.begin;
  copy_bytes(target, around, span.size(), on);
}

/// The driver that reaches both arrays' memory is one, that of pinned memory included.
bool is_one_driver(const ArrayView& dst, const ArrayView& src) noexcept {
  const auto is_cpu = [](const ArrayView& array) {
    return array.device().kind == DeviceKind::kCpu;
  };
  return is_cpu(dst) || is_cpu(src) || vendor_of(dst.device().kind) == vendor_of(src.device().kind);
}

/// Whether one device's kernels reach both.
bool is_one_device(const ArrayView& dst, const ArrayView& src) noexcept {
  const auto is_managed = [](const ArrayView& array) {
    return array.device().kind == DeviceKind::kCudaManaged;
  };
  return is_managed(dst) || is_managed(src) || dst.device() == src.device();
}

}  // namespace

void copy(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  core::check_copy(dst, src);
  if (dst.size() == 0) return;
  if (!is_one_driver(dst, src)) return copy_through_host(dst, src, stream);
  DeviceContext& unit = is_on_device(dst) ? kernel_unit(dst, src) : unit_of(src.device());
  const bool is_small = dst.nbytes() < kWorthThought || (is_on_device(dst) && is_on_device(src));
  if (is_small && dst.dtype == src.dtype && is_gapless(dst) && is_gapless(src) &&
      !core::may_overlap(dst, src)) {
    return copy_bytes(dst, src, dst.nbytes(), stream != nullptr ? stream : current_stream_of(unit));
  }
  if (!is_on_device(src)) {
    if (!copy_to_device(dst, src, stream)) copy_through_host(dst, src, stream);
  } else if (!is_on_device(dst)) {
    if (!copy_to_host(dst, src, stream)) copy_through_host(dst, src, stream);
  } else if (!has_kernels(unit) || !has_kernels(unit_of(src.device()))) {
    copy_through_host(dst, src, stream);
  } else if (is_one_device(dst, src)) {
    copy_by_kernels(dst, src, stream);
  } else {
    copy_between(dst, src, stream);
  }
}

}  // namespace refarray::runtime
