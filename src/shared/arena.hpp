// Arena: memory that a family of processes shares, as one of them sees it.
//
// Control memory has who holds what; all that decides where blocks are is in private books of the
// process that allocated them, which no peer can change.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "shared/control.hpp"
#include "shared/free_ranges.hpp"
#include "shared/system_calls.hpp"

namespace refarray::shared {

/// Where a block is, and which use of it is meant.
struct Placement {
  std::uint64_t generation;
  std::uint64_t offset;  // in the file of elements
  std::uint64_t length;
  std::uint32_t block;
  std::uint32_t zero = 0;  // instead of padding, for messages
};

/// The cell that holds a block on its way, and its contents.
struct Ticket {
  std::uint64_t value;
  std::uint32_t cell;
  std::uint32_t zero = 0;
};

/// Bounds of what waits for receivers. Beyond them the oldest are given up. Settings of the
/// process.
struct Limits {
  std::atomic<std::uint32_t> transit{1U << 15};  // handles that a process has sent
  std::atomic<std::uint32_t> orphans{1U << 12};  // handles whose senders have ended, in an arena
};
Limits& limits() noexcept;

/// For refarray.shared.usage().
struct Usage {
  std::uint64_t limit, file_bytes;
  std::uint64_t free_bytes;  // that this process keeps for its next arrays
  std::uint32_t held, sent, dropped;
  std::uint32_t processes;
};

class Arena;
using ArenaPtr = std::shared_ptr<Arena>;

/// All functions are for any thread. In a process that was made without fork() none changes
/// anything: is_ours() in processes.hpp.
class Arena : public std::enable_shared_from_this<Arena> {
 public:
  /// Throws kBuffer where the system has no sealed files, kValue for a limit.
  static ArenaPtr create(bool peers_write, std::uint64_t limit);
  /// Of descriptors from elsewhere, which stay the caller's. They are checked. Throws kBuffer.
  static ArenaPtr open(const Descriptor& control, const Descriptor& data);
  /// Of descriptions that this process has just opened, for writing where peers write; the data
  /// file is checked. Throws kBuffer.
  static ArenaPtr open_own(const Header& header, Descriptor control, Descriptor data);
  /// Reads and checks the header of what may be an arena's control memory. Throws kBuffer.
  static Header read_header(const Descriptor& control);
  ~Arena();

  const Id& id() const noexcept { return header_.id; }
  /// Whether this process may write elements, and so allocate.
  bool can_write() const noexcept { return can_write_; }
  bool peers_write() const noexcept { return header_.peers_write != 0; }
  std::byte* data() const noexcept { return data_; }
  /// Descriptors that other processes may open again, by number.
  const Descriptor& control_file() const noexcept { return lock_; }
  const Descriptor& data_file() const noexcept { return data_file_; }

  /// A block of at least `nbytes`, held once. Throws kMemory.
  Placement allocate(std::uint64_t nbytes);
  /// Holds a block once more. Throws kBuffer if it was reused, or is not in this arena.
  void attach(const Placement& place);
  void drop(std::uint32_t block) noexcept;
  /// Holds the block at an address once more. Empty if this process holds none there.
  std::optional<Placement> hold_again(const std::byte* address);

  /// Holds a block of this process until receive(). Throws kBuffer.
  Ticket send(std::uint32_t block);
  /// To be called after attach().
  void receive(const Ticket& ticket) noexcept;

  /// Frees what is not in use, also of processes that have ended. The bytes that the system gets.
  std::uint64_t collect();
  Usage usage();

  // fork(): the child holds what its parent holds, by a slot of its own, from its first
  // instruction on.
  void prepare_fork() noexcept;
  void end_fork_in_parent() noexcept;
  void end_fork_in_child() noexcept;

 private:
  /// What this process holds.
  struct Held {
    std::uint32_t count;
    bool is_own;  // it is in the books of this process
    Placement place;
  };
  struct Sent {
    Ticket ticket;
    std::uint32_t block;
  };
  static constexpr std::size_t kAll = SIZE_MAX;

  Arena(const Header& header, Descriptor lock, Descriptor data, bool can_write) noexcept;
  void join(const Descriptor& for_map);
  std::unique_lock<std::mutex> lock_as_member();
  Block& record(std::uint32_t block) noexcept { return control_->blocks[block]; }

  // Allocation, in arena.cpp.
  std::uint32_t take_block();
  bool take_page();
  std::uint64_t take_range(std::uint64_t length);
  bool take_units(std::uint64_t length);
  [[noreturn]] void fail_full(std::uint64_t length);
  void free_again(const Placement& place) noexcept;
  void reclaim(std::size_t most) noexcept;
  void release_one(std::uint32_t block) noexcept;
  std::uint64_t give_back_units();

  // Handles on their way, in arena.cpp.
  void acknowledge(std::size_t most) noexcept;
  void cancel_oldest() noexcept;
  void forget_sent(std::size_t at) noexcept;

  // Processes that have ended, in arena_sweep.cpp.
  std::optional<std::uint32_t> take_slot(const Descriptor& lock) noexcept;
  bool sweep(std::uint32_t orphans_left) noexcept;
  void sweep_slot(std::uint32_t slot) noexcept;
  void purge_orphans(std::uint32_t most);
  void free_abandoned();

  std::mutex mutex_;  // a leaf: nothing is called with it that takes another lock, or Python's
  Header header_;
  bool can_write_;
  Control* control_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t mapped_ = 0;      // bytes of the file of elements, which may be shorter
  std::uint64_t known_size_ = 0;  // that the file had at least
  std::uint64_t unchecked_ = 0;   // bytes taken since available_memory() was asked
  Descriptor lock_;               // of control memory: never mapped, never given to others
  Descriptor data_file_;
  std::optional<std::uint32_t> slot_;
  Descriptor child_lock_;
  std::optional<std::uint32_t> child_slot_;

  std::unordered_map<std::uint32_t, Held> held_;
  // The books: what this process owns.
  FreeRanges free_;
  std::vector<std::uint32_t> free_blocks_;
  std::vector<Placement> dropped_;  // that others may still hold
  std::size_t next_dropped_ = 0;
  std::vector<Sent> sent_;
  std::size_t next_sent_ = 0;
  std::uint32_t next_cell_ = 0;
  ArenaPtr while_sent_;  // an arena lives while a handle is on its way
};

}  // namespace refarray::shared
