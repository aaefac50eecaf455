// Owns StagingRing: the pinned memory through which large transfers from and to other host memory
// go, piece by piece, while the processor gathers or spreads the elements of the next piece.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "core/array.hpp"
#include "runtime/drivers/driver_table.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// One for each device, made at first use and never given back. One thread at a time.
class StagingRing {
 public:
  /// From host memory, any layout and any type that converts, into gapless device memory. The
  /// host's memory has been read when it returns; the work on the stream goes on. False, having
  /// done nothing, when there is no pinned memory to be had. Throws as copy().
  bool send(const core::ArrayView& to, const core::ArrayView& from, const StreamPtr& stream);
  /// The other way; the host's memory has been written when it returns.
  bool fetch(const core::ArrayView& to, const core::ArrayView& from, const StreamPtr& stream);

 private:
  static constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;

  struct Piece {
    Address memory = 0;
    Handle event = nullptr;  // what the piece's last transfer ends with
    bool busy = false;
    // What came in, until it is spread: the part of the result it becomes.
    core::Array part;
  };

  bool prepare(DeviceContext& unit);
  void await(DeviceContext& unit, Piece& piece);
  void spread(DeviceContext& unit, Piece& piece, const core::DType& dtype);

  std::mutex lock_;
  std::array<Piece, 4> pieces_;
  std::size_t next_ = 0;
};

}  // namespace refarray::runtime
