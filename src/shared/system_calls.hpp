// The calls of Linux that arenas need: sealed files in memory, locks of open file descriptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/memory/descriptor.hpp"

namespace refarray::shared {

using core::Descriptor;

/// Throws kBuffer with the name of the call and what errno means.
[[noreturn]] void fail_call(const char* call);

/// A file in memory that can be sealed and is not executable.
Descriptor new_memory_file(const char* name, std::uint64_t size);

/// Which changes of a file the kernel refuses to everybody. A file that shrinks would end the
/// processes that have mapped it.
struct Seals {
  bool shrink, grow, future_write;
};
void add_seals(const Descriptor& file, const Seals& seals);
/// Empty for a file that has no seals: other files of tmpfs answer the same call.
std::optional<Seals> seals_of(const Descriptor& file) noexcept;

struct FileFacts {
  bool is_regular;
  std::uint64_t device, inode, size;
};
FileFacts facts_of(const Descriptor& file);

enum class Access : std::uint8_t { kRead, kWrite };
/// A new open file description of a file that this process has open. Locks belong to descriptions,
/// and mappings keep theirs open.
Descriptor open_again(const Descriptor& file, Access access);
/// A new description of a regular file that another process has open; empty if that is impossible.
Descriptor open_of_process(std::uint32_t pid, std::uint32_t number, Access access) noexcept;
/// Tells apart what process ids mean; 0 without /proc.
std::uint64_t pid_namespace() noexcept;

/// Locks a byte for this open file description, without waiting. The kernel unlocks it when the
/// last descriptor of the description is closed, however that happens. Bytes need not exist.
bool lock_byte(const Descriptor& file, std::uint64_t at) noexcept;
void unlock_byte(const Descriptor& file, std::uint64_t at) noexcept;

/// nullptr with errno set. Shared, and left out of core dumps.
std::byte* map_file(const Descriptor& file, std::uint64_t size, Access access) noexcept;
void unmap(std::byte* address, std::uint64_t size) noexcept;

/// Makes the file at least `size` bytes long and gives it pages in a range. False with errno set.
bool give_pages(const Descriptor& file, std::uint64_t size, std::uint64_t offset,
                std::uint64_t length) noexcept;
/// False for a file whose elements only its maker writes.
bool take_pages(const Descriptor& file, std::uint64_t offset, std::uint64_t length) noexcept;

/// How much this machine and this control group have left, as far as they say.
std::uint64_t available_memory() noexcept;
std::uint64_t physical_memory() noexcept;

void read_at(const Descriptor& file, void* into, std::size_t size);
void write_at(const Descriptor& file, const void* from, std::size_t size);

/// A page that reads as 0 in every child process until it is written there, also in one that was
/// made without fork(). nullptr where the kernel has no such pages.
std::uint64_t* new_page_of_process() noexcept;

}  // namespace refarray::shared
