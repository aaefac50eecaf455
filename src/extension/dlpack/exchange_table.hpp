// The capsule around the C exchange table of refarray.Array, and what it shares with the C table.
#pragma once

#include <Python.h>

#include "core/array.hpp"
#include "extension/capi/ref.hpp"
#include "refarray/dlpack/managed.hpp"
#include "runtime/streams/order.hpp"

namespace refarray::extension {

/// The exchange table of refarray.Array. Static: outlives the module, the capsule and the
/// interpreter (CAPI-04).
const DLPackExchangeAPI& own_table() noexcept;

/// A new capsule around it (CAPI-02).
Ref make_exchange_capsule();

/// The module of the current interpreter, for C callers.
Ref module_of_caller();

struct LentView {
  core::ArrayView view;
  runtime::Lent lent;
};
/// The view of a refarray.Array whose elements a managed tensor can describe, after ordering
/// pending work before the stream that is current for its device. TypeError for other objects.
LentView lent_view(void* object);

/// A new managed tensor over the memory of a refarray.Array.
dlpack::Managed<DLManagedTensorVersioned> export_tensor(void* object);

/// A new array over a tensor, which it takes on success only.
Ref import_tensor(DLManagedTensorVersioned* tensor);

}  // namespace refarray::extension
