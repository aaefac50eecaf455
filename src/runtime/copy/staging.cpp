// Splits arrays into chunks, and overlaps CPU copies with transfers.
#include "runtime/copy/staging.hpp"

#include <algorithm>

#include "core/copy/copy.hpp"
#include "runtime/copy/operation.hpp"
#include "runtime/device_context.hpp"
#include "runtime/streams/stream_key.hpp"

namespace refarray::runtime {
namespace {

using core::ArrayView;

/// The view advanced by `elements` along contiguous memory.
ArrayView advanced(ArrayView view, std::int64_t elements) noexcept {
  const std::int64_t bits = elements * view.dtype.stored_bits() + view.bit;
  view.data += bits >> 3;
  view.bit = static_cast<std::uint8_t>(bits & 7);
  return view;
}

/// Calls `visit(part, offset)` for parts of at most `most` elements, in row-major order; `offset`
/// is the number of elements before the part.
template <class Visit>
void each_chunk(const ArrayView& view, std::int64_t most, std::int64_t offset, const Visit& visit) {
  const std::int64_t size = view.size();
  if (size <= most) return visit(view, offset);
  const std::int64_t inner = size / view.shape[0];
  if (inner <= most) {
    const std::int64_t step = most / inner;
    std::int64_t shape[core::kMaxRank];
    std::copy_n(view.shape, view.ndim, shape);
    for (std::int64_t i = 0; i < view.shape[0]; i += step) {
      ArrayView part = advanced(view, i * view.strides[0]);
      shape[0] = std::min(step, view.shape[0] - i);
      part.shape = shape;
      visit(part, offset + i * inner);
    }
    return;
  }
  for (std::int64_t i = 0; i < view.shape[0]; ++i) {
    ArrayView part = advanced(view, i * view.strides[0]);
    --part.ndim;
    ++part.shape;
    ++part.strides;
    each_chunk(part, most, offset + i * inner, visit);
  }
}

core::Array contiguous_at(Address memory, const core::DType& dtype, core::Extents shape) {
  return {{}, reinterpret_cast<std::byte*>(memory), dtype, 0, false, core::c_layout(shape)};
}

}  // namespace

/// The device must be current. Returns false if pinned memory runs out; chunks allocated so far are
/// kept.
bool StagingRing::allocate_chunks(DeviceContext& context) {
  const RelaxedCaptureMode relaxed(context.api());
  for (Chunk& chunk : chunks_) {
    if (chunk.memory == 0) {
      Address made = 0;
      const Status status = context.api().allocate_host(&made, std::size_t{kChunkBytes});
      if (status == kOutOfMemory) return false;
      context.check(status, "allocating pinned memory");
      chunk.memory = made;
    }
    if (chunk.event == nullptr) chunk.event = single_use_event(context);
  }
  return true;
}

void StagingRing::wait_for(DeviceContext& context, Chunk& chunk) {
  if (!chunk.busy) return;
  const RelaxedCaptureMode relaxed(context.api());
  context.check(context.api().event_synchronize(chunk.event->handle()), "waiting for a transfer");
  chunk.busy = false;
}

bool StagingRing::upload(const ArrayView& to, const ArrayView& from, const StreamPtr& stream) {
  const std::lock_guard guard(lock_);
  DeviceContext& context = stream->context();
  const DeviceGuard on_device(context);
  // The host gathers and scatters now, not when the graph is launched.
  refuse_capture(context, stream->handle(), "a copy that pinned memory is packed for");
  Operation operation(to, from, stream);
  if (!allocate_chunks(context)) {
    operation.finish(/*host_is_done=*/true);
    return false;
  }
  const std::int64_t itemsize = to.dtype.itemsize();
  each_chunk(from, kChunkBytes / itemsize, 0, [&](const ArrayView& part, std::int64_t offset) {
    Chunk& chunk = chunks_[next_++ % chunks_.size()];
    wait_for(context, chunk);
    core::copy(contiguous_at(chunk.memory, to.dtype, part.extents()), part);
    const auto target = reinterpret_cast<Address>(to.data + offset * itemsize);
    const auto nbytes = static_cast<std::size_t>(part.size() * itemsize);
    context.check(context.api().copy(target, chunk.memory, nbytes, Direction::kHostToDevice,
                                     stream->handle()),
                  "copying memory");
    record_in(*chunk.event, stream, /*capture=*/0);
    chunk.busy = true;
  });
  operation.finish(/*host_is_done=*/true);
  return true;
}

void StagingRing::scatter(DeviceContext& context, Chunk& chunk, const core::DType& dtype) {
  if (!chunk.busy) return;
  wait_for(context, chunk);
  core::copy(chunk.part, contiguous_at(chunk.memory, dtype, chunk.part.layout.extents()));
}

bool StagingRing::download(const ArrayView& to, const ArrayView& from, const StreamPtr& stream) {
  const std::lock_guard guard(lock_);
  DeviceContext& context = stream->context();
  const DeviceGuard on_device(context);
  // The host gathers and scatters now, not when the graph is launched.
  refuse_capture(context, stream->handle(), "a copy that pinned memory is packed for");
  Operation operation(to, from, stream);
  if (!allocate_chunks(context)) {
    operation.finish();
    return false;
  }
  for (Chunk& chunk : chunks_) wait_for(context, chunk);  // uploads have no data to scatter
  const std::int64_t itemsize = from.dtype.itemsize();
  each_chunk(to, kChunkBytes / itemsize, 0, [&](const ArrayView& part, std::int64_t offset) {
    Chunk& chunk = chunks_[next_++ % chunks_.size()];
    scatter(context, chunk, from.dtype);
    const auto source = reinterpret_cast<Address>(from.data + offset * itemsize);
    const auto nbytes = static_cast<std::size_t>(part.size() * itemsize);
    context.check(context.api().copy(chunk.memory, source, nbytes, Direction::kDeviceToHost,
                                     stream->handle()),
                  "copying memory");
    record_in(*chunk.event, stream, /*capture=*/0);
    chunk.part = {{},       part.data, part.dtype,
                  part.bit, false,     core::Layout(part.extents(), part.stride_span())};
    chunk.busy = true;
  });
  for (std::size_t i = 0; i < chunks_.size(); ++i)
    scatter(context, chunks_[(next_ + i) % chunks_.size()], from.dtype);
  operation.finish();
  return true;
}

}  // namespace refarray::runtime
