// The objects behind driver handles: devices, contexts, streams, events, pools, modules.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
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
  int retained = 0;
  Stream* legacy = nullptr;
  std::set<const Device*> peers{};  // devices whose memory this context's kernels may access
  std::vector<Stream*> streams{};   // live streams, including the legacy one
  Snapshot waits{};                 // what new streams wait for first
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
};

struct Graph {
  std::uint64_t handle = 0;
  bool alive = true;
  bool executable = false;
  std::vector<Job> jobs{};
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
  bool recorded = false;
  Snapshot snapshot{};
  const Stream* stream = nullptr;      // number of the latest record, if it was captured
  const Capture* capture = nullptr;    // set if the latest record was captured
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

/// Handles are never reused, so that stale ones are detected.
template <class T>
class Table {
 public:
  explicit Table(std::uint64_t tag) : base_(tag << 32) {}

  T* add(T value = {}) {
    items_.push_back(std::make_unique<T>(std::move(value)));
    items_.back()->handle = base_ + items_.size() * 64;
    return items_.back().get();
  }

  T* find(std::uint64_t handle) const {  // live or destroyed
    const std::uint64_t index = (handle - base_) / 64 - 1;
    return (handle - base_) % 64 == 0 && index < items_.size() ? items_[index].get() : nullptr;
  }

  T* alive(std::uint64_t handle) const {
    T* found = find(handle);
    return found != nullptr && found->alive ? found : nullptr;
  }

  const std::deque<std::unique_ptr<T>>& all() const { return items_; }
  void clear() { items_.clear(); }

 private:
  std::uint64_t base_;
  std::deque<std::unique_ptr<T>> items_;
};

}  // namespace fakegpu
