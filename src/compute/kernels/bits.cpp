// Kernels that change the bits of integers and of floating-point numbers, and those that round.
#include "compute/kernels/families.hpp"
#include "compute/kernels/kernel_rows.hpp"
#include "compute/ops/functors/bitwise.hpp"

namespace refarray::core::kernels {
namespace {

using enum Elementwise;

constexpr auto kRows = std::to_array<KernelRow>({
    kernel_row<kBitwiseAnd, functors::BitwiseAnd>(),
    kernel_row<kBitwiseOr, functors::BitwiseOr>(),
    kernel_row<kBitwiseXor, functors::BitwiseXor>(),
    kernel_row<kBitwiseInvert, functors::BitwiseInvert>(),
    kernel_row<kBitwiseLeftShift, functors::LeftShift>(),
    kernel_row<kBitwiseRightShift, functors::RightShift>(),
    kernel_row<kCopysign, functors::Copysign>(),
    kernel_row<kNextafter, functors::NextAfter>(),
    kernel_row<kFloor, functors::Floor>(),
    kernel_row<kCeil, functors::Ceil>(),
    kernel_row<kTrunc, functors::Trunc>(),
    kernel_row<kRound, functors::Round>(),
    kernel_row<kConj, functors::Conj>(),
    kernel_row<kReal, functors::Real>(),
    kernel_row<kImag, functors::Imag>(),
});

/// The others round the result of float32, whose neighbours are nearer.
template <std::uint16_t kInfinite>
constexpr ElementwiseFunction kNextOfHalf =
    &binary_kernel<functors::NextAfterOfHalf<kInfinite>, std::uint16_t, std::uint16_t>;

}  // namespace

namespace REFARRAY_OPERATIONS {

void add_bits(ElementwiseTable& table) noexcept {
  add_rows(table, kRows);
  kernel_in(table, kNextafter, ScalarType::kFloat16) = kNextOfHalf<0x7C00>;
  kernel_in(table, kNextafter, ScalarType::kBfloat16) = kNextOfHalf<0x7F80>;
}

}  // namespace REFARRAY_OPERATIONS
}  // namespace refarray::core::kernels
