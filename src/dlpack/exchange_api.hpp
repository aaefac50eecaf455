// Owns what a consumer and a producer of the C exchange API need that is not Python: finding a
// table, and our allocator.
#pragma once

#include "refarray/dlpack/wire.hpp"

namespace refarray::dlpack {

inline constexpr const char* kExchangeCapsule = "dlpack_exchange_api";
inline constexpr const char* kExchangeAttribute = "__dlpack_c_exchange_api__";

/// The newest table in the chain that we can use: equal major version, every mandatory member there
/// (CAPI-05..08). nullptr when there is none. The walk is bounded, so a cyclic chain ends.
const DLPackExchangeAPI* usable_table(const DLPackExchangeAPI* table) noexcept;

/// managed_tensor_allocator: a row-major, writable, uninitialised tensor of the prototype's dtype,
/// shape and device. Needs no Python state. On failure calls set_error exactly once (if there is
/// one) with the name of a builtin exception and a message, sets *out to NULL and returns -1
/// (CAPI-20..24, A-34).
extern "C" int allocate_managed(DLTensor* prototype, DLManagedTensorVersioned** out,
                                void* error_context,
                                void (*set_error)(void* context, const char* kind,
                                                  const char* message)) noexcept;

}  // namespace refarray::dlpack
