// Arrays whose elements are shifted along axes, those at the end to the beginning, or in one axis.
#pragma once

#include <cstdint>

#include "core/array.hpp"

namespace refarray::extension {

/// The elements in row-major order along one axis: a view where strides express that, or a copy.
[[gnu::noinline]] core::Array flattened(const core::ArrayView& array);

/// A new array on the device of `array`; pinned memory gives one on the CPU. `shifts` has an entry
/// in [0, extent) for each axis, or 0. Throws as copy_elements().
core::Array rolled(const core::ArrayView& array, const std::int64_t* shifts);

/// A shift in [0, extent) and another one, modulo `extent`; 0 if that is 0.
std::int64_t total_shift(std::int64_t shift, std::int64_t more, std::int64_t extent) noexcept;

}  // namespace refarray::extension
