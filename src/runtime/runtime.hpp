// Owns what a device can do for us: allocate, copy, order work on streams, and say why it cannot be
// used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/array.hpp"
#include "core/error.hpp"
#include "runtime/streams/stream.hpp"

namespace refarray::runtime {

/// A driver call failed, for another reason than memory (which is kMemory).
class DriverError : public core::Error {
 public:
  DriverError(int status, std::string name, std::string call, std::string message)
      : Error(core::Fault::kDriver, std::move(message)),
        status_(status),
        name_(std::move(name)),
        call_(std::move(call)) {}
  int status() const noexcept { return status_; }             // the vendor's number
  const std::string& name() const noexcept { return name_; }  // "CUDA_ERROR_LAUNCH_FAILED"
  const std::string& call() const noexcept { return call_; }  // what was being done, in words

 private:
  int status_;
  std::string name_;
  std::string call_;
};

/// While it lives the calling thread may wait for a device, because it holds no lock that others
/// need: not the GIL. Memory is given back by calls that wait only then.
class MayWait {
 public:
  MayWait() noexcept;
  MayWait(const MayWait&) = delete;
  MayWait& operator=(const MayWait&) = delete;
  ~MayWait();
};
bool may_wait() noexcept;

/// What is waited for to give back memory.
enum class Wait : std::uint8_t {
  kForNothing,
  kForOurs,     // our own work on it
  kForDevices,  // also whole devices, where consumers may be using it, unless a graph capture that
                // this would spoil was seen there
  kForSure,     // the same, unless one is seen now; another library's may be spoilt
};
/// Gives back memory whose last use is over, and calls the deleters of foreign memory that waited
/// for our work. Needs a MayWait.
void collect(Wait wait) noexcept;
/// At the end of an interpreter, for foreign memory alone: waits for our work on it and for those
/// it was lent to, and calls the deleters. Where the driver fails that work is over, too. Needs a
/// MayWait.
void collect_foreign() noexcept;

/// Loads the driver of a device and makes the device ready, which may take seconds: the caller must
/// not hold the GIL. What fails is said by whoever needs the device.
void open(const core::Device& device) noexcept;
/// Whether open() would have nothing to do.
bool is_open(const core::Device& device) noexcept;

/// Whether this process can allocate on `device`, loading its driver.
bool can_allocate(const core::Device& device) noexcept;
/// Throws kBuffer naming the device and the reason when arrays cannot be on it. Loads its driver.
void require(const core::Device& device);

/// A new row-major array on `device`. Device memory is allocated, and zeroed, in the order of
/// `stream`; nullptr: the current one. Throws kBuffer naming the device and the reason when it
/// cannot be used, kMemory, DriverError.
core::Array new_array(const core::DType& dtype, core::Extents shape, const core::Device& device,
                      bool zeroed, const StreamPtr& stream = nullptr);

/// core::copy for arrays of which at least one is in memory that the CPU cannot read: ordered after
/// all unfinished work on both, enqueued on `stream` (nullptr: the current one of the destination,
/// or of the source when the destination is in host memory). Returns before the copy is done,
/// except where memory of the CPU's own is read or written. Throws as core::copy, kBuffer,
/// DriverError. The caller must not hold the GIL.
void copy(const core::ArrayView& dst, const core::ArrayView& src,
          const StreamPtr& stream = nullptr);

/// Waits until the CPU may use the array's memory, which it can reach. `writes`: also until nobody
/// reads it any more. The caller must not hold the GIL.
void wait_on_host(const core::ArrayView& array, bool writes);
/// Whether wait_on_host() has something to wait for.
bool is_busy(const core::ArrayView& array);

// --- Exchange.

/// stream= as a consumer gave it.
struct GivenStream {
  enum class Kind : std::uint8_t { kNone, kNumber, kObject };
  Kind kind = Kind::kNone;
  bool negative = false;                             // the number is -value
  std::uint64_t value = 0;                           // of an object: what its __cuda_stream__ says
  std::optional<core::Device> owner = std::nullopt;  // of a Stream of ours: its device
};

/// What it means for a device: the table of docs/gpu.md.
struct StreamChoice {
  enum class Kind : std::uint8_t { kHost, kNoSync, kStream };
  Kind kind = Kind::kHost;  // the host waits; of the CPU's own memory nothing is unfinished
  void* handle = nullptr;   // as the driver takes it
};
/// Throws kValue naming the stream: STRM-05 to STRM-14, A-12, A-15 to A-17.
StreamChoice choose_stream(const core::Device& device, const GivenStream& given);
/// The stream of that handle on the device, kept by its owner.
StreamPtr stream_of(const core::Device& device, const StreamChoice& choice);

/// Step 3: makes everything that was done to the array so far happen before what the consumer does.
/// No driver is called when it works on the stream that all of it was done on. Throws kBuffer,
/// having done nothing, when that would spoil a graph capture.
void order(const core::ArrayView& array, const StreamChoice& choice);
/// order(), for memory of the CPU's own: only None is legal (STRM-14, A-15).
inline void order_cpu(const GivenStream& given) {
  if (given.kind != GivenStream::Kind::kNone) choose_stream(core::Device{}, given);
}
/// order(), where that neither calls a driver nor waits; false: it does, and nothing was done.
bool order_at_once(const core::ArrayView& array, const StreamChoice& choice);

/// What we pass as stream= to a producer whose memory is on `device`: our current stream.
std::int64_t stream_to_pass(const core::Device& device);
/// The work that the producer made visible to our current stream is behind it: other streams of
/// ours have to wait for that.
void adopt(core::Storage& storage);
/// The same for memory whose producer works on a stream of its own, which it told.
void adopt_from(core::Storage& storage, void* stream);

/// Where the memory really is: the producer's numbers of devices need not be ours. Throws
/// kBuffer when the driver knows no such device memory, or when memory labelled as pinned is a
/// device's, which is not asked where no driver has been loaded. `data` is not nullptr.
core::Device confirm(const core::Device& labelled, const void* data);

/// Storage that keeps somebody else's memory, for as long as our work on it is unfinished;
/// `let_go(keeper)` is called once, on any thread.
core::StoragePtr new_foreign_storage(std::byte* data, const core::Device& device, bool writable,
                                     void (*let_go)(void* keeper) noexcept, void* keeper);

// --- Drivers.

/// One vendor driver, as a person asking "why is there no GPU?" wants to read it.
struct DriverReport {
  std::string name;     // "CUDA", "ROCm"
  std::string library;  // the file name that was tried last, or that was opened
  bool found;           // the library could be opened and has the entry points we look for
  int devices;          // what the driver counts; -1 when it could not be asked
  std::string detail;  // why not, in the loader's or the driver's own words; empty when all is well
};

/// Loads each vendor's driver, if that was not done before, and says what became of it.
std::vector<DriverReport> probe_drivers();

}  // namespace refarray::runtime
