// Elements at places that index arrays name: their offsets, and copies from and to them.
#pragma once

#include <cstdint>
#include <span>

#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

/// An integer array whose elements index one axis.
struct AxisIndex {
  ArrayView values;  // of any integer dtype
  int axis;          // for messages
  std::int64_t extent;
  std::int64_t stride;  // in elements
};

/// Throws kType unless the dtype is an integer's; `what` names the array ("indices").
void check_index_dtype(const DType& dtype, const char* what);

/// The values of an index array as int64, row-major and private to the caller, so that they can be
/// checked once. False when interrupted.
bool private_indices(Array& out, const ArrayView& values, const InterruptCheck& interrupt);

/// The offset in bytes of each place that the indices, broadcast to `shape`, select in an array of
/// elements of `itemsize` bytes: the sum of index * stride. A flat int64 array. Negative indices
/// count from the end. Throws kIndex, naming the value and its axis. False when interrupted.
bool index_offsets(Array& out, std::span<const AxisIndex> indices, Extents shape, int itemsize,
                   const InterruptCheck& interrupt);

/// The offset in bytes of the place (i, j, ..., index[i, j, k, ...], ...) of `array`, which has the
/// shape of the indices, but along `axis`. Throws as index_offsets().
bool offsets_along_axis(Array& out, const ArrayView& array, const ArrayView& indices, int axis,
                        const InterruptCheck& interrupt);

/// Each index i, repeats[i] times: a flat int64 array. Throws kValue for a negative number of
/// repetitions, kOverflow if they are too many. False when interrupted.
bool repeated_indices(Array& out, const ArrayView& repeats, const InterruptCheck& interrupt);

/// Some elements of `base` at each of the flat `offsets`: the whole of `base`, moved by that many
/// bytes. In the array that has them all, the axis that counts the offsets comes at position
/// `block_axis`.
struct Places {
  ArrayView base;
  ArrayView offsets;  // from index_offsets(), offsets_along_axis() or mask_offsets()
  int block_axis;
};

/// Copies the elements at the places to `out`, or `from` to the places. The other array has the
/// axes of `base` and the one of the offsets, the same dtype, and does not overlap `base`. Where
/// offsets are equal, scatter() leaves the last elements. Return false when interrupted.
bool gather(const ArrayView& out, const Places& places, const InterruptCheck& interrupt);
bool scatter(const Places& places, const ArrayView& from, const InterruptCheck& interrupt);

/// gather() at the places of one index array of ndim 1, whose offsets are computed part by part.
/// Throws as index_offsets(), also after elements were copied.
bool gather_along(const ArrayView& out, const ArrayView& base, const AxisIndex& index,
                  int block_axis, const InterruptCheck& interrupt);

/// gather() at the places of offsets_along_axis(), which are computed part by part. `out` is
/// row-major and has the shape of the indices. Throws as index_offsets(), also after elements were
/// copied.
bool gather_along_axis(const ArrayView& out, const ArrayView& array, const ArrayView& indices,
                       int axis, const InterruptCheck& interrupt);

}  // namespace refarray::core
