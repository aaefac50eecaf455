// Waiting until the host may use memory that devices use too. Stream ordering of DLPack exchanges:
// the consumer's stream= argument, and events between streams.
#pragma once

#include <cstdint>
#include <optional>

#include "core/array.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// Waits until the CPU may read the array's memory or, with `writes`, write it: then also until all
/// reads have finished. Managed memory of devices that cannot share it with the host waits for all
/// work on them, other libraries' included; they must not get new work while the host uses the
/// memory. The CPU can address the memory. The caller must not hold the GIL. Throws kBuffer where
/// waiting would invalidate a graph capture, DriverError.
void wait_on_host(const core::ArrayView& array, bool writes);
/// wait_on_host()'s refusals, without side effects.
void check_host_access(const core::ArrayView& array, bool writes);
/// Whether wait_on_host() may have something to wait for. Does not block.
bool is_busy(const core::ArrayView& array);

/// A consumer's stream= argument, parsed but not yet checked against a device.
struct GivenStream {
  enum class Kind : std::uint8_t { kNone, kNumber, kObject };
  Kind kind = Kind::kNone;
  bool negative = false;    // the number is -value
  std::uint64_t value = 0;  // for an object: the handle from its __cuda_stream__
  std::optional<core::Device> owner = std::nullopt;  // for a refarray Stream: its device
};

/// The meaning of stream= for one device: the table in docs/gpu.md.
struct StreamChoice {
  enum class Kind : std::uint8_t { kHost, kNoSync, kStream };
  Kind kind = Kind::kHost;  // the host waits; no-op for CPU memory, which has no unfinished work
  void* handle = nullptr;   // the driver's handle
  const Stream* object = nullptr;  // the Stream that has the handle, if the caller holds one
  std::optional<core::Device> owner = std::nullopt;  // the stream's device, if the caller told it
  bool is_joined = false;  // the consumer works on a stream of its own, after this one
};
inline StreamChoice choice_of(const Stream& stream) noexcept {
  return {StreamChoice::Kind::kStream, stream.handle(), &stream};
}
/// Throws kValue naming the stream: STRM-05 to STRM-14, A-12, A-15 to A-17.
StreamChoice choose_stream(const core::Device& device, const GivenStream& given);
/// The Stream of ours with that handle, or one for another library's, which its creator keeps
/// owning: it may be destroyed once the caller has dropped the result. Its device is the one that
/// the driver reports for it, else `device`. The caller must not hold the GIL. Throws kBuffer if it
/// is of a context that is not the device's primary one.
StreamPtr stream_of(const core::Device& device, const StreamChoice& choice);

/// Step 2 of an export that copies to `target` in the order of `stream` (nullptr: the current
/// streams): throws kBuffer where allocating there or copying would invalidate a graph capture.
/// Allocates and enqueues nothing. The caller must not hold the GIL. `what` names the operation.
void check_copy(const core::ArrayView& array, const core::Device& target, const StreamPtr& stream,
                const char* what = "an export that copies");

class Lent;
/// Step 3 of an export: orders all work on the array so far before the consumer's, and the free of
/// its memory after it. Calls no driver function if all work is on the consumer's stream. Throws
/// kBuffer, without side effects, if that would invalidate a graph capture.
Lent order(const core::ArrayView& array, const StreamChoice& choice);
/// order() for CPU memory: only stream=None is legal (STRM-14, A-15).
Lent order_cpu(const GivenStream& given);
/// order(), if that needs neither a driver call nor a wait; else nothing, without side effects.
std::optional<Lent> order_at_once(const core::ArrayView& array, const StreamChoice& choice);
/// order() for consumers that need not wait, or have: orders only the free. Calls no driver.
Lent lend(const core::ArrayView& array) noexcept;

/// Whoever gives an address to others needs one: what they do with the memory comes before its
/// free.
class Lent {
  constexpr Lent() noexcept = default;
  friend Lent order(const core::ArrayView&, const StreamChoice&);
  friend Lent order_cpu(const GivenStream&);
  friend std::optional<Lent> order_at_once(const core::ArrayView&, const StreamChoice&);
  friend Lent lend(const core::ArrayView&) noexcept;
};
inline Lent order_cpu(const GivenStream& given) {
  if (given.kind != GivenStream::Kind::kNone) choose_stream(core::Device{}, given);
  return {};
}

/// The stream= value to pass to a producer whose memory is on `device`: our current stream.
std::int64_t stream_to_pass(const core::Device& device);
/// Records that an imported array is ready on our current stream, so that other streams of ours
/// wait for it.
void adopt(core::Storage& storage);
/// The same for a producer that works on a stream of its own, `stream`.
void adopt_from(core::Storage& storage, void* stream);

}  // namespace refarray::runtime
