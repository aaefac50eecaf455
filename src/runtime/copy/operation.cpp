// Operation's ordering and bookkeeping, and contiguous copies by the driver.
#include "runtime/copy/operation.hpp"

#include <utility>

#include "runtime/device_context.hpp"

namespace refarray::runtime {
namespace {

using core::ArrayView;
using core::DeviceKind;

Address address_of(const ArrayView& array) noexcept {
  return reinterpret_cast<Address>(array.data);
}

Direction direction_of(const ArrayView& dst, const ArrayView& src) noexcept {
  if (dst.device().kind == DeviceKind::kCudaManaged ||
      src.device().kind == DeviceKind::kCudaManaged) {
    return Direction::kAny;
  }
  if (!is_on_device(src)) return Direction::kHostToDevice;
  return is_on_device(dst) ? Direction::kDeviceToDevice : Direction::kDeviceToHost;
}

}  // namespace

bool is_on_device(const ArrayView& array) noexcept { return !array.device().is_host(); }

bool is_contiguous(const ArrayView& array) noexcept {
  const bool whole = !array.dtype.is_packed() ||
                     (array.bit == 0 && array.size() * array.dtype.stored_bits() % 8 == 0);
  return whole && core::is_c_contiguous(array.extents(), array.stride_span());
}

Operation::Operation(const ArrayView& dst, const ArrayView& src, StreamPtr stream)
    : stream_(std::move(stream)), dst_(tracked(dst.storage)), src_(tracked(src.storage)) {
  DeviceContext& context = stream_->context();
  const DeviceGuard on_device(context);
  // Pageable memory makes the host wait, which a graph cannot.
  pageable_ = dst_ == nullptr || src_ == nullptr;
  const Capture capture = capture_of(*stream_);
  if (capture.active && (pageable_ || capture.id == 0)) {
    refuse_capture(context, stream_->handle(), "a copy from or to pageable host memory");
  }
  capture_ = capture.id;
  const StreamKey key(*stream_);
  if (src_ != nullptr) src_->pending.check_can_wait(context, key, /*writes=*/false);
  if (dst_ != nullptr)
    dst_waited_for_ = dst_->pending.make_stream_wait(context, key, /*writes=*/true);
  if (src_ != nullptr)
    src_waited_for_ = src_->pending.make_stream_wait(context, key, /*writes=*/false);
}

void Operation::finish(bool host_is_done) {
  const PendingUse done = recorded_use(stream_, /*writes=*/true, capture_);
  PendingUse read = done;
  read.writes = false;
  if (src_ != nullptr && src_ != dst_) src_->pending.add(read, src_waited_for_);
  if (dst_ != nullptr) dst_->pending.add(done, dst_waited_for_);
  finished_ = true;
  if (pageable_ && !host_is_done) synchronize(*done.event);
}

Operation::~Operation() {
  if (finished_) return;
  // The operation failed half-way: enqueued work must finish before the memory is reused.
  const DriverTable& api = stream_->context().api();
  const TryDeviceGuard on_device(stream_->context());
  const RelaxedCaptureMode relaxed(api);
  if (on_device && capture_ == 0) api.stream_synchronize(stream_->handle());
}

void copy_bytes(const ArrayView& dst, const ArrayView& src, std::int64_t nbytes,
                const StreamPtr& stream) {
  DeviceContext& context = stream->context();
  const DeviceGuard on_device(context);
  Operation operation(dst, src, stream);
  const auto size = static_cast<std::size_t>(nbytes);
  const Direction direction = direction_of(dst, src);
  const bool peers = direction == Direction::kDeviceToDevice && dst.device().id != src.device().id;
  const Status status =
      peers
          ? context.api().copy_peer(address_of(dst), dst.device().id, address_of(src),
                                    src.device().id, size, stream->handle())
          : context.api().copy(address_of(dst), address_of(src), size, direction, stream->handle());
  context.check(status, "copying memory");
  operation.finish();
}

}  // namespace refarray::runtime
