// StagingRing: pinned chunks through which large transfers of pageable memory are pipelined.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "core/array.hpp"
#include "runtime/drivers/driver_table.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// One per device. The CPU gathers or scatters one chunk while the device transfers another. Chunks
/// are allocated on first use and never freed. Used by one thread at a time.
class StagingRing {
 public:
  /// Uploads host memory of any layout and convertible dtype to contiguous device memory. Host
  /// memory has been read on return; work on the stream continues. Returns false, without side
  /// effects, if pinned memory cannot be allocated. Throws as copy().
  bool upload(const core::ArrayView& to, const core::ArrayView& from, const StreamPtr& stream);
  /// Downloads contiguous device memory to host memory, which has been written on return.
  bool download(const core::ArrayView& to, const core::ArrayView& from, const StreamPtr& stream);

 private:
  static constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;

  struct Chunk {
    Address memory = 0;
    EventPtr event;  // end of the chunk's last transfer
    bool busy = false;
    // A downloaded chunk's destination, until it is scattered.
    core::Array part;
  };

  bool allocate_chunks(DeviceContext& context);
  void wait_for(DeviceContext& context, Chunk& chunk);
  void scatter(DeviceContext& context, Chunk& chunk, const core::DType& dtype);

  std::mutex lock_;
  std::array<Chunk, 4> chunks_;
  std::size_t next_ = 0;
};

}  // namespace refarray::runtime
