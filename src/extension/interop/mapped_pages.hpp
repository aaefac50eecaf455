// The pages of mapped files. Each system has a file of its own.
#pragma once

#include <cstdint>

namespace refarray::extension {

/// Writes the changed pages of bytes [low, high) to their file, and waits. Does nothing for memory
/// that is not a file's. False, and errno, if the system cannot write.
bool write_mapped_pages(std::uintptr_t low, std::uintptr_t high) noexcept;

}  // namespace refarray::extension
