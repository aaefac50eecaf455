// Kernels of where(): each moves words of the size of an element, whatever the dtype.
#include "core/kernels/operations/families.hpp"
#include "core/kernels/operations/loops.hpp"

namespace refarray::core::kernels {
namespace {

struct Words16 {
  std::uint64_t words[2];
};

/// Inputs: the condition, a byte for each element, and the two alternatives. A scalar condition is
/// rare and needs no loop of its own.
template <class T, bool FirstIsScalar, bool SecondIsScalar>
void select(std::byte* out, const std::byte* const* in, std::int64_t count,
            std::int64_t condition_step) noexcept {
  const std::byte* const condition = in[0];
  const T first = load<T>(in[1], 0);
  const T second = load<T>(in[2], 0);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const T x = FirstIsScalar ? first : load<T>(in[1], i);
    const T y = SecondIsScalar ? second : load<T>(in[2], i);
    store<T>(out, i, condition[i * condition_step] != std::byte{0} ? x : y);
  }
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

ElementwiseFunction selection(Elementwise operation, int dtype) noexcept {
  if (operation != Elementwise::kWhere) return nullptr;
  switch (kScalars[static_cast<std::size_t>(dtype)].bits) {
    case 8:
      return &where_kernel<std::uint8_t>;
    case 16:
      return &where_kernel<std::uint16_t>;
    case 32:
      return &where_kernel<std::uint32_t>;
    case 64:
      return &where_kernel<std::uint64_t>;
    default:
      return &where_kernel<Words16>;
  }
}

}  // namespace REFARRAY_OPERATIONS
}  // namespace refarray::core::kernels
