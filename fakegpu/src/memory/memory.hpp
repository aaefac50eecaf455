// The simulated address space: device addresses that trap, their private aliases, and all
// allocations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "control/codes.hpp"
#include "machine/clock.hpp"

namespace fakegpu {

struct Device;
struct Physical;
struct Pool;
struct Capture;
struct SharedBook;

struct Stream;

enum class MemoryKind { kDevice, kPinned, kManaged };

/// Which work may use managed memory, on devices that cannot share it with a running host.
enum Attach : unsigned { kAttachGlobal = 1, kAttachHost = 2, kAttachSingle = 4 };

/// An earlier access: which bytes, by whom, when.
struct Access {
  enum class Kind { kRead, kWrite, kAllocate, kFree };
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Kind kind = Kind::kRead;
  Moment moment;
  std::uint64_t call = 0;
  std::uint32_t process = 0;  // 0: this one
};

struct Allocation {
  std::uint64_t begin = 0;
  std::size_t bytes = 0;
  std::uint64_t reserved_begin = 0;  // whole pages, without the guard page
  std::size_t reserved_bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  Device* device = nullptr;
  Pool* pool = nullptr;            // nullptr unless stream-ordered
  const Capture* graph = nullptr;  // set for memory allocated in a capture
  std::uint64_t id = 0;
  unsigned flags = 0;
  unsigned attached = kAttachGlobal;    // managed memory
  const Stream* attached_to = nullptr;  // kAttachSingle
  bool freed = false;
  bool adopted = false;          // memory that the program registered
  Access released;               // the free, if any
  Physical* physical = nullptr;  // of a mapping: what is mapped
  SharedBook* book = nullptr;    // of a mapping: all processes' accesses
  std::set<int> usable_on;       // of a mapping: devices that may access it
  std::vector<Access> history;

  std::uint64_t end() const { return begin + bytes; }
};

/// All memory of both drivers. A device address lies in a PROT_NONE page range; the workers access
/// its bytes at an alias. So they do with host memory, whose pages are closed to the host at times.
class Memory {
 public:
  enum class Reuse { kNever, kLifo };
  static constexpr std::size_t kPage = 4096;
#if defined(__SANITIZE_THREAD__)
  static constexpr bool kWatches = false;  // ThreadSanitizer must see one address per byte
#else
  static constexpr bool kWatches = true;
#endif

  Memory();
  /// nullptr if memory runs out. `fill`: writes the pattern for fresh memory at once.
  Allocation* allocate(std::size_t bytes, MemoryKind kind, Device* device, const Clock& clock,
                       bool fill);
  Allocation* add_mapping(std::uint64_t begin, std::size_t bytes, Device* device);
  Allocation* adopt(void* pointer, std::size_t bytes, Device* device);
  /// Marks an allocation as freed; poison() writes the pattern, possibly much later.
  void free(Allocation& allocation);
  /// The allocation containing the address, live or freed.
  Allocation* find(std::uint64_t address) const;
  std::vector<Allocation*> alive() const;
  void set_reuse(Reuse reuse) { reuse_ = reuse; }
  void set_unmap(bool unmap) { unmap_ = unmap; }
  bool unmaps() const { return unmap_; }
  void forget();  // forgets all allocations

  /// Device addresses that nothing is allocated at; 0 if there are no more. They are never reused.
  static std::uint64_t reserve(std::size_t bytes, std::size_t alignment);
  /// Lets workers access a file's bytes at the addresses, or what freed memory has.
  static bool map_file(std::uint64_t begin, std::size_t bytes, int file);
  static void unmap_file(std::uint64_t begin, std::size_t bytes);

  /// The address at which workers access a byte: its alias, or itself if the program owns it.
  static std::uint64_t alias(std::uint64_t address);
  static bool is_device_address(std::uint64_t address);
  static bool is_host_address(std::uint64_t address);  // pinned or managed memory
  /// Lets the host access pages of host memory, or not.
  static void protect(std::uint64_t begin, std::size_t bytes, int protection);
  // writes the pattern for freed memory
  static void poison(std::uint64_t begin, std::size_t bytes);
  static void fill(std::uint64_t begin, std::size_t bytes);  // writes the pattern for fresh memory
  static void unmap(std::uint64_t reserved_begin, std::size_t reserved_bytes);

 private:
  Allocation* reused(std::size_t reserved, MemoryKind kind, const Device* device,
                     const Clock& clock);
  Allocation* add(Allocation allocation);
  static void open(const Allocation& allocation);
  static void release(const Allocation& allocation);
  void trim();

  std::map<std::uint64_t, std::unique_ptr<Allocation>> allocations_;  // keyed by reserved_begin
  std::vector<Allocation*> freed_;
  std::size_t freed_bytes_ = 0;  // bytes of freed allocations that still have pages
  std::size_t trimmed_ = 0;      // number of entries of freed_ without pages
  std::uint64_t next_id_ = 1;
  Reuse reuse_ = Reuse::kNever;
  bool unmap_ = false;
};

}  // namespace fakegpu
