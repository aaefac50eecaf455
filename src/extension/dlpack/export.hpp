// Ordering of an exported array's pending work, shared by all protocols that export device memory.
#pragma once

#include "core/array.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {

/// runtime::order(), releasing the GIL only if it has to call a driver.
[[gnu::noinline]] void order_without_gil(const core::ArrayView& array,
                                         const runtime::StreamChoice& choice);

}  // namespace refarray::extension
