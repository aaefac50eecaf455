// Owns storages whose last reference is gone while work on their memory is not: they wait in a list
// until they can be given back.
#pragma once

#include <cstddef>

#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {

/// Keeps a storage until its work is done. Allocates nothing and waits for nothing.
void retire(TrackedStorage* storage, std::size_t nbytes) noexcept;

/// Before an allocation: collect(), waiting when much has gathered.
void collect_before_allocation() noexcept;

}  // namespace refarray::runtime
