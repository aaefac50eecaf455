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

/// nullptr where there is no kernel. It has no functions: their copies of a level could be used
/// elsewhere.
struct ElementwiseTable {
  ElementwiseFunction by_dtype[static_cast<std::size_t>(Elementwise::kCount)][kComputable];
};

struct Operations {
  const ElementwiseTable& (*elementwise)() noexcept;
  const ElementwiseFunction* where;  // for elements of 1, 2, 4, 8 and 16 bytes
  Reductions reductions;
  const Gathering* gathering;
  const Sorting* sorting;
  const FourierKernels<float>* fourier_float;
  const FourierKernels<double>* fourier_double;
};

}  // namespace refarray::core::kernels
