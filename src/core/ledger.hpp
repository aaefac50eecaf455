// Ledgers: counts of allocations, copies, transfers and synchronizations of one thread, which may
// forbid them.
//
// What counts is noted where it is about to happen. While no ledger is open in the process that
// costs one load and one branch.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace refarray::core {

/// What a ledger counts.
enum class Entry : std::uint8_t {
  kAllocation,       // memory for the elements of an array
  kCopy,             // elements written to other memory of the same device
  kTransfer,         // elements written to memory of another device
  kSynchronization,  // the host waits for a device
  kCount
};
inline constexpr std::size_t kEntries = static_cast<std::size_t>(Entry::kCount);

/// A set of entries, as bits.
using EntrySet = std::uint8_t;
constexpr EntrySet bit_of(Entry entry) noexcept {
  return static_cast<EntrySet>(1u << static_cast<unsigned>(entry));
}

/// Counts for the thread that opened it. Other threads may read it and close it at any time.
class Ledger {
 public:
  explicit Ledger(EntrySet forbidden) noexcept : forbidden_(forbidden) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  std::int64_t number(Entry entry) const noexcept { return read(numbers_, entry); }
  std::int64_t bytes(Entry entry) const noexcept { return read(bytes_, entry); }
  /// How often an entry was forbidden.
  std::int64_t refused(Entry entry) const noexcept { return read(refused_, entry); }
  bool forbids(Entry entry) const noexcept { return (forbidden_ & bit_of(entry)) != 0; }

  /// False if it is open already, on any thread.
  static bool open(const std::shared_ptr<Ledger>& ledger);
  /// From any thread. False if it is not open.
  bool close() noexcept;
  bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }

 private:
  friend void record(Entry entry, std::int64_t nbytes);
  friend void require_allowed(Entry entry, std::int64_t nbytes);
  using Counters = std::array<std::atomic<std::int64_t>, kEntries>;

  static std::int64_t read(const Counters& counters, Entry entry) noexcept {
    return counters[static_cast<std::size_t>(entry)].load(std::memory_order_relaxed);
  }
  static void add(Counters& counters, Entry entry, std::int64_t count) noexcept {
    counters[static_cast<std::size_t>(entry)].fetch_add(count, std::memory_order_relaxed);
  }

  Counters numbers_{};
  Counters bytes_{};
  Counters refused_{};
  std::atomic<bool> open_{false};
  const EntrySet forbidden_;
};

/// The number of open ledgers in the process.
extern constinit std::atomic<int> open_ledgers;

/// Throws kLedger if an open ledger of the thread forbids the entry.
[[gnu::cold]] void require_allowed(Entry entry, std::int64_t nbytes);
/// require_allowed(), then counts it in every open ledger of the thread.
[[gnu::cold]] void record(Entry entry, std::int64_t nbytes);

inline bool is_any_ledger_open() noexcept {
  return open_ledgers.load(std::memory_order_relaxed) != 0;
}

/// To be called before it happens. `nbytes` is 0 for synchronizations.
inline void note(Entry entry, std::int64_t nbytes) {
  if (is_any_ledger_open()) [[unlikely]]
    record(entry, nbytes);
}

/// note() without counting: for what may still fail, or whose size (-1) is not known yet.
inline void note_attempt(Entry entry, std::int64_t nbytes) {
  if (is_any_ledger_open()) [[unlikely]]
    require_allowed(entry, nbytes);
}

}  // namespace refarray::core
