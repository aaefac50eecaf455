// The simulated machine: settings, devices, all objects and the order of work.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "machine/objects.hpp"
#include "memory/memory.hpp"

namespace fakegpu {

enum class Order { kThreads, kLatest, kEarliest, kRandom };

/// The settings of fakegpu_configure().
struct Settings {
  int cuda_devices = 2;
  int hip_devices = 1;
  int cuda_version = 12080;
  int hip_version = 60342131;
  std::uint64_t device_bytes = std::uint64_t{2} << 30;
  bool pools = true;
  bool managed = true;
  bool concurrent_managed = true;  // the host may touch managed memory while kernels run
  bool shareable = true;           // memory that other processes can map
  bool peers = true;               // cuDeviceCanAccessPeer returns 1
  // CUDA documents "may perform implicit synchronization", so programs must not rely on it
  bool cuda_free_waits = false;
  bool hip_free_waits = true;
  bool stub = false;                 // every function returns kStubLibrary and writes nothing
  bool crash_on_bad_handle = false;  // crash like real drivers
  bool hip_crash_on_one = true;      // crash on hipStreamLegacy, which HIP dereferences
  bool reuse = false;                // reuse freed addresses at once, where the driver may
  bool unmap = false;                // unmap freed memory, so that device accesses trap too
  bool check_gil = true;
  bool each_thread = false;  // one clock per host thread
  Order order = Order::kThreads;
  unsigned delay = 0;  // maximum delay before each operation, in microseconds
  std::uint64_t seed = 1;
  std::int64_t hang_milliseconds = 30'000;
};

/// Per-thread state of the host.
struct Thread {
  std::uint64_t id = 0;
  std::size_t component = 0;
  std::uint64_t generation = 0;
  std::vector<Context*> stack{};
  int hip_device = 0;
  CaptureMode mode = kGlobal;
  std::map<Context*, Stream*> per_thread{};
  std::string label{};
};

class Machine {
 public:
  static Machine& get();

  std::mutex lock;
  Settings settings;
  Memory memory;
  Clock host_clock;  // shared by all host threads, unless each_thread is set
  std::map<std::size_t, Clock> thread_clocks;
  Table<Context> contexts{0x10};
  Table<Stream> streams{0x20};
  Table<Event> events{0x30};
  Table<Pool> pools{0x40};
  Table<Module> modules{0x50};
  Table<Function> functions{0x60};
  Table<Graph> graphs{0x70};
  Table<Physical> physical{0x80};
  std::vector<AddressRange> ranges;
  std::deque<std::unique_ptr<Capture>> captures;
  std::set<Allocation*> closed;  // host memory that the host may not access, or only read, now
  std::mutex pages;              // held while pages of host memory are opened or closed
  std::atomic<bool> forked{false};
  std::atomic<std::uint64_t> calls_after_fork{0};
  bool deinitialized = false;
  bool cuda_initialized = false;

  std::vector<Device>& devices(Vendor vendor) { return vendor == Vendor::kCuda ? cuda_ : hip_; }
  Device* device(Vendor vendor, int ordinal);
  void switch_on();   // creates the configured devices
  void apply();       // settings that take effect immediately
  void switch_off();  // ends all workers and destroys all objects

  Thread& thread();
  Clock& clock();  // the calling host thread's
  Moment host_moment();
  Context* primary(Device& device);  // made by the first use, and anew after a reset
  Context* add_context(Device& device);
  std::size_t new_component() {
    thread();  // its own clock component first
    return take_component();
  }
  Stream* add_stream(Context& context, unsigned flags, int priority);
  void destroy_stream(Stream& stream);
  void destroy_context(Context& context);
  Stream* per_thread_stream(Context& context);

  std::uint64_t last_context_ = 0;  // the id of the latest context
  std::uint64_t next_call = 0;      // number of the call that is queueing work
  /// Queues work after everything it must follow, and after `extra`. `alone`: in the legacy stream,
  /// it does not follow the blocking streams.
  const Op* enqueue(Stream& stream, Op::Work work, const Snapshot& extra, bool alone = false);
  Snapshot snapshot(Stream& stream);
  /// The work that synchronizing with the stream waits for; queues nothing.
  Snapshot everything(const Stream& stream);
  Snapshot snapshot(Context& context);
  Moment moment(const Stream& stream) const;
  /// Runs held work in the configured order until `op` has finished; no-op in the order "threads".
  void pump(const Op* op);
  bool stuck(const Op* op, int depth = 0) const;  // the operation waits for held work

 private:
  Machine();
  std::size_t take_component();  // that no other process of the room has
  void make_devices(Vendor vendor, int count);
  void add_legacy(Context& context);
  Stream* choose();

  std::vector<Device> cuda_;
  std::vector<Device> hip_;
  std::deque<std::unique_ptr<Op>> ops_;
  std::size_t next_component_ = 0;
  std::atomic<std::uint64_t> next_thread_{1};
  std::uint64_t generation_ = 1;
  std::uint64_t random_ = 1;
  Order applied_ = Order::kThreads;
  std::mutex pump_lock_;
};

}  // namespace fakegpu
