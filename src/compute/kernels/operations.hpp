// The kernels of computations of one instruction set, by operation and dtype.
//
// Every kernel computes the same bits at every level. The sources in this folder are compiled once
// per level, each time in another namespace (REFARRAY_OPERATIONS); everything that a header here
// defines for them has internal linkage, as in kernels/vector.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/kernels/reducing/reductions.hpp"
#include "compute/ops/elementwise_rows.hpp"

namespace refarray::core::kernels {

/// Computes `count` elements. Inputs and output are contiguous and may be misaligned. Bit i of
/// `scalars`: input i is one element, which is used for all. The output may be one of the inputs;
/// otherwise it does not overlap them.
using ElementwiseFunction = void (*)(std::byte* out, const std::byte* const* in, std::int64_t count,
                                     unsigned scalars) noexcept;

struct Gathering;  // gather.hpp
struct Sorting;    // sort.hpp
template <class T>
struct FourierKernels;  // fourier.hpp

/// nullptr: the operation has no kernel for the dtype.
struct Operations {
  ElementwiseFunction (*elementwise)(Elementwise operation, ScalarType dtype) noexcept;
  Reductions reductions;
  const Gathering* gathering;
  const Sorting* sorting;
  const FourierKernels<float>* fourier_float;
  const FourierKernels<double>* fourier_double;
};

}  // namespace refarray::core::kernels
