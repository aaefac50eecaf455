// The objects behind driver handles: devices, contexts, streams, events, pools, modules.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "machine/images.hpp"
#include "machine/kernels.hpp"
#include "machine/op.hpp"
#include "memory/memory.hpp"

namespace fakegpu {

struct Context;
struct Graph;

struct Pool {
  std::uint64_t handle = 0;
  bool alive = true;
  Device* device = nullptr;
  bool is_default = false;
  std::uint64_t release_threshold = 0;
  std::set<int> readable_from{};  // devices granted access by cuMemPoolSetAccess
};

/// Memory of a device that processes share, without an address.
struct Physical {
  std::uint64_t handle = 0;
  bool alive = true;
  Device* device = nullptr;
  int file = -1;
  std::size_t bytes = 0;
  int references = 0;  // handles of the program
  int mappings = 0;
  bool created = false;  // here, not imported
  bool can_export = false;
};

/// Addresses that the program has reserved.
struct AddressRange {
  std::uint64_t begin = 0;
  std::size_t bytes = 0;
};

struct Device {
  Vendor vendor = Vendor::kCuda;
  int ordinal = 0;
  std::size_t total = 0;
  std::size_t used = 0;
  Context* primary = nullptr;
  Pool* default_pool = nullptr;
  Pool* pool = nullptr;
  Clock kernels{};  // all launches so far
};

/// The work an event or a wait refers to: everything queued up to one point.
struct Snapshot {
  std::vector<const Op*> ops{};
  Clock clock{};
};

struct Stream;

struct Context {
  std::uint64_t handle = 0;
  bool alive = true;
  Device* device = nullptr;
  bool primary = false;
  std::uint64_t id = 0;  // a new one whenever a primary context is made anew
  int retained = 0;
  Stream* legacy = nullptr;
  std::set<const Device*> peers{};  // devices whose memory this context's kernels may access
  std::vector<Stream*> streams{};   // live streams, including the legacy one
  Snapshot waits{};                 // what new streams wait for first
  Context* green_of = nullptr;      // the primary context that a green one is part of
  std::vector<Context*> greens{};   // a primary context's green ones
  std::uint64_t current_in = 0;     // the thread in which a green one is current, and how often
  int times = 0;

  /// Objects of a primary context and of its green ones may be used together.
  Context& whole() { return green_of != nullptr ? *green_of : *this; }
};

/// A stream capture in progress, shared by its streams.
struct Capture {
  std::uint64_t id = 0;
  CaptureMode mode = kGlobal;
  CaptureStatus status = kActive;
  Stream* origin = nullptr;
  std::uint64_t thread = 0;
  Graph* graph = nullptr;
  std::uint64_t nodes = 0;
  std::vector<Stream*> members{};
};

/// An access: bytes [begin, end), read or written.
struct Touch {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool write = false;
};

/// Work before it is queued or captured.
struct Job {
  Op::Work run{};
  std::vector<Touch> touches{};
  bool kernel = false;
  std::set<std::uint64_t> after{};  // in a graph: all nodes that come before it
  bool allocates = false;           // or frees: the stream's pool keeps the books, no device works
};

struct Graph {
  std::uint64_t handle = 0;
  bool alive = true;
  bool executable = false;
  std::vector<Job> jobs{};  // node n is jobs[n - 1]
  Snapshot launched{};      // the latest launch, which the next one follows
};

struct Stream {
  std::uint64_t handle = 0;
  bool alive = true;
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  bool legacy = false;
  std::size_t component = 0;
  Clock clock{};
  const Op* last = nullptr;
  Clock kernels{};  // its launches so far
  Capture* capture = nullptr;
  std::set<std::uint64_t> captured{};  // the capture nodes its next node follows
  std::unique_ptr<Worker> worker = std::make_unique<Worker>();

  bool blocking() const { return !legacy && (flags & kNonBlocking) == 0; }
};

struct Event {
  std::uint64_t handle = 0;
  bool alive = true;
  Context* context = nullptr;
  unsigned flags = 0;
  std::optional<std::size_t> shared{};  // its number in the room, if other processes may have it
  bool opened = false;                  // another process made it
  bool recorded = false;
  Snapshot snapshot{};
  const Stream* stream = nullptr;      // number of the latest record, if it was captured
  Capture* capture = nullptr;          // set if the latest record was captured
  std::set<std::uint64_t> captured{};  // the nodes it depends on
};

struct Module {
  std::uint64_t handle = 0;
  bool alive = true;
  Context* context = nullptr;
  Image image{};
};

struct Function {
  std::uint64_t handle = 0;
  bool alive = true;
  Module* module = nullptr;
  const Kernel* kernel = nullptr;
};

/// Handles are reused only if asked for: stale ones are detected otherwise.
template <class T>
class Table {
 public:
  explicit Table(std::uint64_t tag) : base_(tag << 32) {}

  /// `reuse`: under the handle that was retired last, as a driver's allocator may do.
  T* add(T value = {}, bool reuse = false) {
    T* item = items_.emplace_back(std::make_unique<T>(std::move(value))).get();
    if (!reuse || retired_.empty()) {
      by_slot_.push_back(nullptr);
      item->handle = base_ + by_slot_.size() * 64;
    } else {
      item->handle = retired_.back();
      retired_.pop_back();
    }
    by_slot_[slot(item->handle)] = item;
    return item;
  }

  /// Destroys an object for the program; work that is queued may still need it.
  void retire(T& item) {
    if (!item.alive) return;
    item.alive = false;
    retired_.push_back(item.handle);
  }

  T* find(std::uint64_t handle) const {  // live or destroyed: the last one of this handle
    const bool there = (handle - base_) % 64 == 0 && slot(handle) < by_slot_.size();
    return there ? by_slot_[slot(handle)] : nullptr;
  }

  T* alive(std::uint64_t handle) const {
    T* found = find(handle);
    return found != nullptr && found->alive ? found : nullptr;
  }

  const std::deque<std::unique_ptr<T>>& all() const { return items_; }
  void clear() {
    items_.clear();
    by_slot_.clear();
    retired_.clear();
  }

 private:
  std::uint64_t slot(std::uint64_t handle) const { return (handle - base_) / 64 - 1; }

  std::uint64_t base_;
  std::deque<std::unique_ptr<T>> items_;
  std::vector<T*> by_slot_;
  std::vector<std::uint64_t> retired_;
};

}  // namespace fakegpu
