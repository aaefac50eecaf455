// Owns how an array is cut into pieces that fit pinned memory, and what waits for what between
// them.
#include "runtime/copy/staging.hpp"

#include <algorithm>

#include "core/copy/copy.hpp"
#include "runtime/copy/operation.hpp"
#include "runtime/device_context.hpp"
#include "runtime/streams/relaxed_capture.hpp"

namespace refarray::runtime {
namespace {

using core::ArrayView;

/// The view with its first element `elements` further on.
ArrayView advanced(ArrayView view, std::int64_t elements) noexcept {
  const std::int64_t bits = elements * view.dtype.stored_bits() + view.bit;
  view.data += bits >> 3;
  view.bit = static_cast<std::uint8_t>(bits & 7);
  return view;
}

/// Calls `visit(part, offset)` for parts of at most `most` elements, in row-major order; `offset`
/// counts the elements before.
template <class Visit>
void each_part(const ArrayView& view, std::int64_t most, std::int64_t offset, const Visit& visit) {
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
    each_part(part, most, offset + i * inner, visit);
  }
}

core::Array gapless_at(Address memory, const core::DType& dtype, core::Extents shape) {
  return {{}, reinterpret_cast<std::byte*>(memory), dtype, 0, false, core::c_layout(shape)};
}

}  // namespace

/// The device must be current. What there is already is kept when more cannot be had.
bool StagingRing::prepare(DeviceContext& unit) {
  const Relaxed whatever_is_captured(unit.api());
  for (Piece& piece : pieces_) {
    if (piece.memory == 0) {
      Address made = 0;
      const Status status = unit.api().allocate_host(&made, std::size_t{kPieceBytes});
      if (status == kOutOfMemory) return false;
      unit.check(status, "allocating pinned memory");
      piece.memory = made;
    }
    if (piece.event == nullptr) piece.event = unit.take_event();
  }
  return true;
}

void StagingRing::await(DeviceContext& unit, Piece& piece) {
  if (!piece.busy) return;
  const Relaxed whatever_is_captured(unit.api());
  unit.check(unit.api().event_synchronize(piece.event), "waiting for a transfer");
  piece.busy = false;
}

bool StagingRing::send(const ArrayView& to, const ArrayView& from, const StreamPtr& stream) {
  const std::lock_guard guard(lock_);
  DeviceContext& unit = stream->unit();
  Operation operation(to, from, stream);
  const OnDevice here(unit);
  if (!prepare(unit)) {
    operation.finish(/*host_is_done=*/true);
    return false;
  }
  const std::int64_t itemsize = to.dtype.itemsize();
  each_part(from, kPieceBytes / itemsize, 0, [&](const ArrayView& part, std::int64_t offset) {
    Piece& piece = pieces_[next_++ % pieces_.size()];
    await(unit, piece);
    core::copy(gapless_at(piece.memory, to.dtype, part.extents()), part);
    const auto target = reinterpret_cast<Address>(to.data + offset * itemsize);
    const auto nbytes = static_cast<std::size_t>(part.size() * itemsize);
    unit.check(
        unit.api().copy(target, piece.memory, nbytes, Direction::kHostToDevice, stream->handle()),
        "copying memory");
    unit.check(unit.api().event_record(piece.event, stream->handle()), "recording an event");
    piece.busy = true;
  });
  operation.finish(/*host_is_done=*/true);
  return true;
}

void StagingRing::spread(DeviceContext& unit, Piece& piece, const core::DType& dtype) {
  if (!piece.busy) return;
  await(unit, piece);
  core::copy(piece.part, gapless_at(piece.memory, dtype, piece.part.layout.extents()));
}

bool StagingRing::fetch(const ArrayView& to, const ArrayView& from, const StreamPtr& stream) {
  const std::lock_guard guard(lock_);
  DeviceContext& unit = stream->unit();
  Operation operation(to, from, stream);
  const OnDevice here(unit);
  if (!prepare(unit)) {
    operation.finish();
    return false;
  }
  for (Piece& piece : pieces_) await(unit, piece);  // what was sent before means nothing here
  const std::int64_t itemsize = from.dtype.itemsize();
  each_part(to, kPieceBytes / itemsize, 0, [&](const ArrayView& part, std::int64_t offset) {
    Piece& piece = pieces_[next_++ % pieces_.size()];
    spread(unit, piece, from.dtype);
    const auto source = reinterpret_cast<Address>(from.data + offset * itemsize);
    const auto nbytes = static_cast<std::size_t>(part.size() * itemsize);
    unit.check(
        unit.api().copy(piece.memory, source, nbytes, Direction::kDeviceToHost, stream->handle()),
        "copying memory");
    unit.check(unit.api().event_record(piece.event, stream->handle()), "recording an event");
    piece.part = {{},       part.data, part.dtype,
                  part.bit, false,     core::Layout(part.extents(), part.stride_span())};
    piece.busy = true;
  });
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    spread(unit, pieces_[(next_ + i) % pieces_.size()], from.dtype);
  operation.finish();
  return true;
}

}  // namespace refarray::runtime
