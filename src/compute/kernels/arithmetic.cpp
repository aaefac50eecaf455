// Kernels of sums, products, quotients, remainders, powers of integers, and signs.
#include "compute/ops/functors/arithmetic.hpp"

#include "compute/kernels/families.hpp"
#include "compute/kernels/floor_division.hpp"
#include "compute/kernels/kernel_rows.hpp"
#include "compute/kernels/repeated_divisor.hpp"

namespace refarray::core::kernels {
namespace {

using enum Elementwise;
using dtype_sets::kInteger;
using dtype_sets::kRealValued;

struct DivisionLoops {
  template <class F, class T, class>
  static constexpr ElementwiseFunction kKernel = [] {
    if constexpr (std::is_floating_point_v<T>)
      return &floor_division_kernel<F, T>;
    else
      return &integer_division_kernel<F, T>;
  }();
};

constexpr auto kRows = std::to_array<KernelRow>({
    kernel_row<kAdd, functors::Add>(),
    kernel_row<kSubtract, functors::Subtract>(),
    kernel_row<kMultiply, functors::Multiply>(),
    kernel_row<kDivide, functors::Divide>(),
    kernel_row<kRemainder, functors::Remainder, kRealValued, DivisionLoops>(),
    kernel_row<kFloorDivide, functors::FloorDivide, kRealValued, DivisionLoops>(),
    kernel_row<kPow, functors::IntegerPower, kInteger>(),
    kernel_row<kNegative, functors::Negative>(),
    kernel_row<kPositive, functors::Positive>(),
    kernel_row<kSquare, functors::Square>(),
    kernel_row<kReciprocal, functors::Reciprocal>(),
    kernel_row<kSqrt, functors::SquareRoot, dtype_sets::kRealFloating>(),
    kernel_row<kAbs, functors::Absolute, kRealValued>(),
    kernel_row<kSign, functors::Sign, kRealValued>(),
});

}  // namespace

namespace REFARRAY_OPERATIONS {

void add_arithmetic(ElementwiseTable& table) noexcept { add_rows(table, kRows); }

}  // namespace REFARRAY_OPERATIONS
}  // namespace refarray::core::kernels
