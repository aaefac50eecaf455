// The places and elements that boolean masks select, and the indices of non-zero elements.
#pragma once

#include <cstdint>
#include <vector>

#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

// Another thread may write to a mask meanwhile: what is selected is then unspecified, but every
// function returns results that fit each other.

/// The offset in bytes of each place where `mask` is True, in row-major order, for an array whose
/// axes have the given strides, in elements of `itemsize` bytes. A flat int64 array. False when
/// interrupted.
bool mask_offsets(Array& out, const ArrayView& mask, Extents strides, int itemsize,
                  const InterruptCheck& interrupt);

/// Whether select() takes the pair: row-major, of equal shapes, in words of up to 16 bytes.
bool can_select(const ArrayView& array, const ArrayView& mask) noexcept;
/// The elements where `mask` is True, in row-major order: a new flat array. False when interrupted.
bool select(Array& out, const ArrayView& array, const ArrayView& mask,
            const InterruptCheck& interrupt);

/// The indices of the elements that are not zero, in row-major order: one flat int64 array for each
/// axis. False when interrupted.
bool nonzero(std::vector<Array>& out, const ArrayView& array, const InterruptCheck& interrupt);

}  // namespace refarray::core
