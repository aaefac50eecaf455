// Kernels of argmin() and argmax(): the least key of a block, and its place where it is a new best.
#include "compute/kernels/operations.hpp"
#include "compute/kernels/reducing/lanes.hpp"
#include "refarray/core/dtype.hpp"

namespace refarray::core::kernels::REFARRAY_OPERATIONS {
namespace {

/// One key for all elements that are equal: for -0 and +0, and for all NaN.
template <class Op, bool kFloat, class X>
[[gnu::always_inline]] inline X unified(X key) noexcept {
  using T = typename Op::Lane;
  if constexpr (!kFloat) return key;
  // The two zeros are 0 and -1 before the shift, in the order that flip chooses.
  constexpr T kZero = Op::kShift;
  const X one_zero = key == kZero ? key - T{1} : key;
  return one_zero < Op::kEndOfNan ? X{} + std::numeric_limits<T>::min() : one_zero;
}

/// Index of the first element with the key; there is one.
template <class Op, bool kFloat>
std::int64_t find(const Op& op, const std::byte* in, std::int64_t bytes,
                  typename Op::Lane wanted) noexcept {
  using T = typename Op::Lane;
  using V = Vector<T>;
  using Words = Vector<std::int64_t>;
  std::int64_t at = 0;
  for (; at + kVectorBytes <= bytes; at += kVectorBytes) {
    const V key = unified<Op, kFloat>(op.key(load<V>(in + at)));
    const auto found = reinterpret_cast<Words>(key == wanted);
    std::int64_t any = 0;
    for (int i = 0; i < kVectorBytes / 8; ++i) any |= found[i];
    if (any != 0) break;
  }
  while (unified<Op, kFloat>(op.key(load<T>(in + at))) != wanted) at += sizeof(T);
  return at / static_cast<std::int64_t>(sizeof(T));
}

template <class T, bool kFloat>
void search(const Search& call) noexcept {
  using Op = Least<T, kFloat>;
  const Op op(call.flip);
  const std::int64_t bytes = call.count * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t row = 0; row < call.rows; ++row) {
    Best best = call.best[row];
    const std::byte* const in = call.in + row * call.pitch;
    for (std::int64_t at = 0; at < bytes; at += kBlockBytes) {
      const std::int64_t size = min(kBlockBytes, bytes - at);
      const T key = unified<Op, kFloat>(fold_block(op, in + at, size).parts[0]);
      if (key >= best.key) continue;
      const std::int64_t place = find<Op, kFloat>(op, in + at, size, key);
      best = {key, call.first + at / static_cast<std::int64_t>(sizeof(T)) + place};
      if (key == std::numeric_limits<T>::min()) break;  // none is less
    }
    call.best[row] = best;
  }
}

}  // namespace

/// `dtype` is a real one, but neither float16 nor bfloat16.
SearchKernels search_kernels(bool greatest, ScalarType dtype) noexcept {
  const ScalarInfo& info = info_of(dtype);
  const std::uint64_t flip = order_flip(greatest, info.kind == Kind::kUInt, info.bits);
  if (info.kind == Kind::kFloat)
    return {info.bits == 64 ? &search<std::int64_t, true> : &search<std::int32_t, true>, flip};
  switch (info.bits) {
    case 8:
      return {&search<std::int8_t, false>, flip};
    case 16:
      return {&search<std::int16_t, false>, flip};
    case 32:
      return {&search<std::int32_t, false>, flip};
    default:
      return {&search<std::int64_t, false>, flip};
  }
}

}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
