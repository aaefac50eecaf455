// The capsule around the C exchange table of refarray.Array.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"
#include "refarray/dlpack/wire.hpp"

namespace refarray::extension {

/// The exchange table of refarray.Array. Static: outlives the module, the capsule and the
/// interpreter (CAPI-04).
const DLPackExchangeAPI& own_table() noexcept;

/// A new capsule around it (CAPI-02).
Ref make_exchange_capsule();

}  // namespace refarray::extension
