// Kernels of where(): each moves words of the size of an element, whatever the dtype.
#include "compute/kernels/families.hpp"
#include "compute/kernels/loops.hpp"

namespace refarray::core::kernels {
namespace {

/// Complex128: two words under one condition.
struct Words16 {
  std::uint64_t words[2];
};

/// By masks instead of branches: such a loop is vectorized.
template <class T>
T chosen(std::byte condition, T x, T y) noexcept {
  const T mask = static_cast<T>(T{0} - static_cast<T>(condition != std::byte{0}));
  return static_cast<T>(y ^ ((x ^ y) & mask));
}
Words16 chosen(std::byte condition, Words16 x, Words16 y) noexcept {
  return {chosen(condition, x.words[0], y.words[0]), chosen(condition, x.words[1], y.words[1])};
}

/// Inputs: the condition, a byte for each element, and the two alternatives. A scalar condition is
/// rare and needs no loop of its own.
template <class T, bool FirstIsScalar, bool SecondIsScalar>
void select(std::byte* out, const std::byte* const* in, std::int64_t count,
            std::int64_t condition_step) noexcept {
  const std::byte* const condition = in[0];
  const std::byte* const first = in[1];
  const std::byte* const second = in[2];
  const T first_scalar = load<T>(first, 0);
  const T second_scalar = load<T>(second, 0);
  const auto run = [&](auto step) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
      const T x = FirstIsScalar ? first_scalar : load<T>(first, i);
      const T y = SecondIsScalar ? second_scalar : load<T>(second, i);
      store<T>(out, i, chosen(condition[i * step], x, y));
    }
  };
  if (condition_step == 1)
    run(std::integral_constant<std::int64_t, 1>());
  else
    run(std::integral_constant<std::int64_t, 0>());
}

template <class T>
void where_kernel(std::byte* out, const std::byte* const* in, std::int64_t count,
                  unsigned scalars) noexcept {
  if ((scalars & 1) != 0) {
    if ((scalars & 2) != 0) return select<T, true, false>(out, in, count, 0);
    if ((scalars & 4) != 0) return select<T, false, true>(out, in, count, 0);
    return select<T, false, false>(out, in, count, 0);
  }
  switch (scalars >> 1) {
    case 0:
      return select<T, false, false>(out, in, count, 1);
    case 1:
      return select<T, true, false>(out, in, count, 1);
    case 2:
      return select<T, false, true>(out, in, count, 1);
    default:
      return select<T, true, true>(out, in, count, 1);
  }
}

}  // namespace

namespace REFARRAY_OPERATIONS {

const ElementwiseFunction kWhere[5]{&where_kernel<std::uint8_t>, &where_kernel<std::uint16_t>,
                                    &where_kernel<std::uint32_t>, &where_kernel<std::uint64_t>,
                                    &where_kernel<Words16>};

}  // namespace REFARRAY_OPERATIONS
}  // namespace refarray::core::kernels
