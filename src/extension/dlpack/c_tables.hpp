// The capsules around the C tables: DLPack's exchange table of refarray.Array, and that of
// include/refarray/python/c_api.h.
#pragma once

#include "extension/capi/ref.hpp"
#include "refarray/dlpack/managed.hpp"

namespace refarray::extension {

/// The exchange table of refarray.Array. Static: outlives the module, the capsule and the
/// interpreter (CAPI-04).
const DLPackExchangeAPI& own_table() noexcept;

/// A new capsule around it (CAPI-02).
Ref make_exchange_capsule();

/// A new capsule "refarray._C_API". The table in it is static: it outlives the module, the capsule
/// and the interpreter.
Ref make_c_table_capsule();

}  // namespace refarray::extension
