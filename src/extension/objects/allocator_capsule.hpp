// Allocators of other libraries as capsules: what the C table makes and use_allocator() takes.
#pragma once

#include "core/memory/storage.hpp"
#include "extension/capi/ref.hpp"

namespace refarray::extension {

/// A new capsule; None for an empty one.
Ref allocator_object(core::AllocatorPtr allocator);
/// The allocator in a capsule; empty for None. Throws kType for other objects.
core::AllocatorPtr to_allocator(PyObject* object);
/// Sets the allocator of the calling thread and returns the object of the one before.
Ref use_allocator(PyObject* allocator);

}  // namespace refarray::extension
