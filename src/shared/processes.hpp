// The arenas of this process, and fork().
#pragma once

#include "shared/arena.hpp"

namespace refarray::shared {

/// False in a process that was made by clone() without the handlers of fork(), or by a fork() that
/// had no memory for them: it holds nothing.
bool is_ours() noexcept;

/// The arena with this id that the process has open, or empty.
ArenaPtr find_arena(const Id& id);
/// Adds an arena, unless the process has opened it meanwhile: returns the one to use. The first
/// call registers the handlers of fork().
ArenaPtr add_arena(ArenaPtr arena);
/// All that are open.
std::vector<ArenaPtr> open_arenas();

}  // namespace refarray::shared
