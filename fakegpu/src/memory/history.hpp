// SharedHistory: the accesses to memory that several processes have mapped, in the same file as its
// bytes.
#pragma once

#include "memory/memory.hpp"

namespace fakegpu {

/// What follows the bytes in the file of shareable memory.
struct SharedBook {
  static constexpr std::size_t kEntries = 1024;
  struct Entry {
    std::uint64_t begin, end;  // from the begin of the memory
    Access::Kind kind;
    std::uint32_t component, time, process;
    std::uint64_t call;
  };
  std::uint64_t magic, bytes;
  std::uint32_t vendor, ordinal;
  std::uint64_t count;
  Entry entries[kEntries];
};

/// RAII: the history of an allocation with a book, as that of all processes, and back into the
/// book. Nothing for other allocations.
class SharedHistory {
 public:
  explicit SharedHistory(Allocation& allocation);
  ~SharedHistory();
  SharedHistory(const SharedHistory&) = delete;
  SharedHistory& operator=(const SharedHistory&) = delete;

 private:
  Allocation& allocation_;
};

}  // namespace fakegpu
