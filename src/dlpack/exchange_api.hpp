// The C exchange API without Python: finding a usable table in a chain, and refarray's
// managed_tensor_allocator.
#pragma once

#include "refarray/dlpack/wire.hpp"

namespace refarray::dlpack {

inline constexpr const char* kExchangeCapsule = "dlpack_exchange_api";
inline constexpr const char* kExchangeAttribute = "__dlpack_c_exchange_api__";

/// The newest usable table in the chain: equal major version and every mandatory member set
/// (CAPI-05..08). nullptr when there is none. At most 16 links are followed, so a cyclic chain
/// ends.
const DLPackExchangeAPI* usable_table(const DLPackExchangeAPI* table) noexcept;

/// managed_tensor_allocator: a row-major, writable, uninitialised tensor with the prototype's
/// dtype, shape and device. Needs no Python state. On failure sets *out to NULL, calls set_error
/// (if any) exactly once with the name of a builtin exception and a message, and returns -1
/// (CAPI-20..24, A-34).
extern "C" int allocate_managed(DLTensor* prototype, DLManagedTensorVersioned** out,
                                void* error_context,
                                void (*set_error)(void* context, const char* kind,
                                                  const char* message)) noexcept;

}  // namespace refarray::dlpack
