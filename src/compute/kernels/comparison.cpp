// Kernels of comparisons, of logic and of the classification of floating-point numbers.
#include "compute/ops/functors/comparison.hpp"

#include "compute/kernels/families.hpp"
#include "compute/kernels/kernel_rows.hpp"
#include "compute/kernels/vectors.hpp"
#include "compute/ops/functors/bitwise.hpp"

namespace refarray::core::kernels {
namespace {

using enum Elementwise;

/// Of floats: `?:` on vectors is one instruction, whose result is right unless an operand is NaN or
/// both are zeros. Then the same choice between that result and the first operand has other bits,
/// and the functor computes the block.
template <class F, class T>
void extreme_kernel(std::byte* out, const std::byte* const* in, std::int64_t count,
                    unsigned scalars) noexcept {
  using Words = Lanes<std::int64_t>;
  constexpr int kVectors = 8, kCount = kVectors * kWidth / sizeof(T);
  const Blocks<T, kCount> x(in[0], (scalars & 1) != 0), y(in[1], (scalars & 2) != 0);
  for (std::int64_t at = 0; at < count; at += kCount) {
    const std::byte* const block[] = {x.at(at), y.at(at)};
    std::byte* const to = out + at * static_cast<std::int64_t>(sizeof(T));
    Lanes<T> found[kVectors];
    Words differ{};
    if (at + kCount <= count) [[likely]] {
#pragma GCC unroll 8
      for (int i = 0; i < kVectors; ++i) {
        const auto first = load<Lanes<T>>(block[0] + i * kWidth);
        const auto second = load<Lanes<T>>(block[1] + i * kWidth);
        found[i] = F::prefers(first, second) ? first : second;
        differ |= (Words)found[i] ^ (Words)(F::prefers(found[i], first) ? found[i] : first);
      }
      if (all(differ == 0)) [[likely]] {
#pragma GCC unroll 8
        for (int i = 0; i < kVectors; ++i) store(to + i * kWidth, found[i]);
        continue;
      }
    }
    binary_kernel<F, T, T>(to, block, min(kCount, count - at), 0);
  }
}

struct ExtremeLoops {
  template <class F, class T, class R>
  static constexpr ElementwiseFunction kKernel = [] {
    if constexpr (std::is_floating_point_v<T>)
      return &extreme_kernel<F, T>;
    else
      return &binary_kernel<F, T, R>;
  }();
};

constexpr auto kRows = std::to_array<KernelRow>({
    kernel_row<kEqual, functors::Equal>(),
    kernel_row<kNotEqual, functors::NotEqual>(),
    kernel_row<kLess, functors::Less>(),
    kernel_row<kLessEqual, functors::LessEqual>(),
    kernel_row<kGreater, functors::Greater>(),
    kernel_row<kGreaterEqual, functors::GreaterEqual>(),
    kernel_row<kMaximum, functors::Maximum, dtype_sets::kRealValued, ExtremeLoops>(),
    kernel_row<kMinimum, functors::Minimum, dtype_sets::kRealValued, ExtremeLoops>(),
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
