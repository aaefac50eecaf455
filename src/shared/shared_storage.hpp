// Arrays in arenas: new ones, their handles, and arrays from handles.
#pragma once

#include <optional>

#include "core/array.hpp"
#include "shared/arena.hpp"
#include "shared/message.hpp"

namespace refarray::shared {

/// A row-major array in an arena. Throws kMemory.
core::Array new_shared_array(const ArenaPtr& arena, const core::DType& dtype, core::Extents shape,
                             bool zeroed);

/// The arena of an array's memory, or empty.
ArenaPtr arena_of(const core::ArrayView& array) noexcept;
/// The same elements as an array of their arena, with a hold of its own: what another library made
/// of a shared array comes back. Empty for elements that are in no block of this process.
std::optional<core::Array> found_in_arena(const core::ArrayView& array);

/// Where another process finds an arena of this one.
Source source_of(const Arena& arena) noexcept;
/// The message for one receiver, which holds the block until then. Throws kBuffer for an array that
/// is in no arena.
Message send(const core::ArrayView& array);

/// The arena that a message names: this process's, or that of the sender, which must live and let
/// itself be opened. Throws kBuffer.
ArenaPtr find_or_open(const Source& source);
/// The array of a message. Throws kBuffer if its memory was released.
core::Array attach(const ArenaPtr& arena, const Message& message);

}  // namespace refarray::shared
