// Kernels of comparisons, of logic and of the classification of floating-point numbers.
#include "compute/ops/functors/comparison.hpp"

#include "compute/kernels/families.hpp"
#include "compute/kernels/kernel_rows.hpp"
#include "compute/ops/functors/bitwise.hpp"

namespace refarray::core::kernels {
namespace {

using enum Elementwise;

constexpr auto kRows = std::to_array<KernelRow>({
    kernel_row<kEqual, functors::Equal>(),
    kernel_row<kNotEqual, functors::NotEqual>(),
    kernel_row<kLess, functors::Less>(),
    kernel_row<kLessEqual, functors::LessEqual>(),
    kernel_row<kGreater, functors::Greater>(),
    kernel_row<kGreaterEqual, functors::GreaterEqual>(),
    kernel_row<kMaximum, functors::Maximum>(),
    kernel_row<kMinimum, functors::Minimum>(),
    kernel_row<kLogicalAnd, functors::BitwiseAnd>(),
    kernel_row<kLogicalOr, functors::BitwiseOr>(),
    kernel_row<kLogicalXor, functors::BitwiseXor>(),
    kernel_row<kLogicalNot, functors::BitwiseInvert>(),
    kernel_row<kIsnan, functors::IsNan>(),
    kernel_row<kIsinf, functors::IsInf>(),
    kernel_row<kIsfinite, functors::IsFinite>(),
    kernel_row<kSignbit, functors::SignBit>(),
});

}  // namespace

namespace REFARRAY_OPERATIONS {

void add_comparison(ElementwiseTable& table) noexcept { add_rows(table, kRows); }

}  // namespace REFARRAY_OPERATIONS
}  // namespace refarray::core::kernels
