// What the kit's module asks of the system. Each has a file of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>
#include <thread>

namespace adversary {

enum class Access { kNone, kRead, kWrite };

std::size_t page_size() noexcept;
/// Fresh pages, readable and writable; nullptr if there are none.
void* map_pages(std::size_t bytes) noexcept;
/// False if the system refuses.
bool protect_pages(void* begin, std::size_t bytes, Access access) noexcept;
void unmap_pages(void* begin, std::size_t bytes) noexcept;

/// A function that the process already has, or nullptr.
void* find_symbol(const char* name) noexcept;

inline constexpr int kStandardOutput = 1;
/// Writes a text to a descriptor, as far as that is possible; works without an interpreter.
void write_text(int descriptor, std::string_view text) noexcept;

/// Keeps the calling thread for good.
[[noreturn]] inline void park() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(24));
}

}  // namespace adversary
