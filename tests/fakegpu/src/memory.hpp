// Owns the simulated address space: device addresses that trap, their private alias, the books.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "clock.hpp"
#include "codes.hpp"

namespace fakegpu {

struct Device;
struct Pool;
struct Capture;

enum class MemoryKind { kDevice, kPinned, kManaged };

/// One earlier access: which bytes, by whom, when.
struct Access {
  enum class Kind { kRead, kWrite, kAllocate, kFree };
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Kind kind = Kind::kRead;
  Moment moment;
  std::uint64_t call = 0;
};

struct Allocation {
  std::uint64_t begin = 0;
  std::size_t bytes = 0;
  std::uint64_t reserved_begin = 0;  // whole pages, the guard page not counted
  std::size_t reserved_bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  Device* device = nullptr;
  Pool* pool = nullptr;            // set for stream-ordered memory
  const Capture* graph = nullptr;  // set for an allocation that a capture made
  std::uint64_t id = 0;
  unsigned flags = 0;
  bool freed = false;
  bool adopted = false;  // the program's own memory, registered
  Access released;       // the free, when there was one
  std::vector<Access> history;

  std::uint64_t end() const { return begin + bytes; }
};

/// All memory of both vendors. A device address is the start of a PROT_NONE page range; the bytes
/// are `kAlias` further on, where only the workers look.
class Memory {
 public:
  enum class Reuse { kNever, kLifo };

  Memory();
  /// A null pointer when there is no more. `fill` poisons the fresh bytes at once.
  Allocation* allocate(std::size_t bytes, MemoryKind kind, Device* device, const Clock& clock,
                       bool fill);
  Allocation* adopt(void* pointer, std::size_t bytes, Device* device);
  /// The books' part of a free; the bytes are poisoned by `poison`, which may run much later.
  void free(Allocation& allocation);
  /// The allocation, dead or alive, that holds the address.
  Allocation* find(std::uint64_t address) const;
  std::vector<Allocation*> alive() const;
  void set_reuse(Reuse reuse) { reuse_ = reuse; }
  void set_unmap(bool unmap) { unmap_ = unmap; }
  bool unmaps() const { return unmap_; }
  void forget();  // every allocation, as when the machine is switched off

  /// Where the bytes of an address are: its alias for device memory, itself for any other.
  static std::uint64_t alias(std::uint64_t address);
  static bool is_device_address(std::uint64_t address);
  static void poison(std::uint64_t begin, std::size_t bytes);  // as freed
  static void fill(std::uint64_t begin, std::size_t bytes);    // as fresh
  static void unmap(std::uint64_t reserved_begin, std::size_t reserved_bytes);

 private:
  Allocation* reused(std::size_t reserved, MemoryKind kind, const Device* device,
                     const Clock& clock);
  Allocation* add(Allocation allocation);
  void trim();

  std::map<std::uint64_t, std::unique_ptr<Allocation>> books_;  // by reserved_begin
  std::vector<Allocation*> freed_;
  std::size_t freed_bytes_ = 0;  // of those whose pages are still there
  std::size_t trimmed_ = 0;      // how many of freed_ have given their pages back
  std::uint64_t next_id_ = 1;
  Reuse reuse_ = Reuse::kNever;
  bool unmap_ = false;
};

}  // namespace fakegpu
