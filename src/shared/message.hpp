// The message by which an array goes to another process: where it is, and its layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/array_record.hpp"
#include "shared/arena.hpp"

namespace refarray::shared {

/// Where a process finds an arena that it does not have open: descriptors of the sender.
struct Source {
  Id arena;
  std::uint64_t pid_namespace;
  std::uint32_t pid, control, data;
  std::uint32_t zero = 0;
};

/// The array's record is of its block.
struct Message : core::ArrayRecord {
  Source source;
  Placement place;
  Ticket ticket;
};

std::vector<std::byte> encode(const Message& message);
/// Checks all that can be checked without the arena: that the elements are inside of the block.
/// Throws kBuffer naming field, value and limit.
Message decode_message(std::span<const std::byte> bytes);

}  // namespace refarray::shared
