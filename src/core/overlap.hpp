// Whether two strided arrays have bytes in common.
#pragma once

#include "core/array.hpp"

namespace refarray::core {

/// Whether an element of one array has a bit in common with an element of the other. Exact, unlike
/// may_overlap(), but for layouts whose comparison takes very many steps: they do.
bool share_memory(const ArrayView& a, const ArrayView& b) noexcept;

}  // namespace refarray::core
