// Room: what processes that share the simulated devices have in common, in a file that all map:
// clocks, and the events that one made and others opened.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "machine/clock.hpp"

namespace fakegpu {

/// The latest record of an interprocess event.
struct SharedRecord {
  std::uint64_t number = 0;  // 0: none yet
  Clock clock{};
};

class Room {
 public:
  /// The room whose file the variable FAKEGPU_ROOM names; nullptr if it names none.
  static Room* get();

  /// A clock component of this process alone.
  std::size_t new_component();
  /// The hosts of all processes count as one: what one of them has seen, the others know at their
  /// next call. How they told each other cannot be seen.
  void meet(Clock& host);

  /// Also of a process that was killed and that nobody has waited for.
  static bool has_ended(pid_t process);

  /// Excludes the other processes; this one's threads exclude each other by the machine's lock.
  class Lock {
   public:
    explicit Lock(const Room& room);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int file_;
  };

  /// Interprocess events, by number. Empty if there are too many.
  std::optional<std::size_t> add_event();
  void retire_event(std::size_t event);
  /// Whether the process that made it has not destroyed it.
  bool has_event(std::size_t event) const;
  std::uint64_t record(std::size_t event, const Clock& clock);
  SharedRecord latest(std::size_t event);
  /// The recorded work has run. For worker threads: takes no lock.
  void finish(std::size_t event, std::uint64_t record);
  /// Whether the recorded work has run, or can never run because its process has ended.
  bool is_finished(std::size_t event, std::uint64_t record) const;
  void wait(std::size_t event, std::uint64_t record) const;

 private:
  struct Board;
  struct SharedEvent;
  Room(int file, Board* board) : file_(file), board_(board) {}

  int file_;
  Board* board_;
};

}  // namespace fakegpu
