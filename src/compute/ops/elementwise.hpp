// Elementwise computation on host arrays: blocks of the operands are brought into contiguous
// buffers where they are not contiguous already, and handed to a kernel.
#pragma once

#include <span>

#include "compute/kernels/operations.hpp"
#include "core/array.hpp"
#include "core/work_sharing.hpp"

namespace refarray::core {

inline constexpr int kMaxInputs = 3;

/// A kernel with the dtypes of its inputs and of its output. Operands of other dtypes are converted
/// block by block, as copy() does.
struct ElementwiseKernel {
  kernels::ElementwiseFunction function = nullptr;
  DType in[kMaxInputs];
  DType out;
};

/// The kernel of a function for a promoted dtype that the function's row accepts. nextafter() has
/// kernels for float16 and bfloat16. Other arithmetic is done in float32, which has more than twice
/// as many digits, so that a second rounding changes nothing; mathematics and complex functions are
/// computed in float64 and rounded once.
ElementwiseKernel find_kernel(Elementwise operation, ScalarType dtype) noexcept;

/// The kernel of where() for a dtype: inputs are a bool and two values.
ElementwiseKernel find_where_kernel(ScalarType dtype) noexcept;

/// The dtype of the function's result.
DType result_dtype(Result rule, ScalarType dtype) noexcept;

/// The shape that two shapes broadcast to. Throws kValue, naming both, if there is none.
Layout broadcast_shapes(Extents a, Extents b);

/// A layout without gaps for a result of `shape`: in the order of the axes in memory of the first
/// input that has that shape, so that operands in the same order stay contiguous.
Layout result_layout(Extents shape, std::span<const ArrayView> inputs);

/// Computes every element of `out` from those of the inputs, which broadcast to its shape. `out`
/// does not overlap an input, unless each of its elements lies where that of the input does.
/// Returns false when `interrupt` stopped the work; `out` then has been written in part.
bool run_elementwise(const ElementwiseKernel& kernel, const ArrayView& out,
                     std::span<const ArrayView> inputs, const InterruptCheck& interrupt = {});

}  // namespace refarray::core
