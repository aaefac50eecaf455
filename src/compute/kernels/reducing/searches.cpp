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

/// The places of the least keys in as many sequences as X has lanes.
template <class X, bool kFloat, class Op>
[[gnu::always_inline]] inline void search_lane(const Op& op, const Search& call,
                                               std::int64_t lane) noexcept {
  using T = typename Op::Lane;
  const std::byte* in = call.in + lane * static_cast<std::int64_t>(sizeof(T));
  X least = unified<Op, kFloat>(op.key(load<X>(in)));
  X place{};
  X index{};
  for (std::int64_t i = 1; i < call.count; ++i) {
    in += call.pitch;
    index += T{1};
    const X key = unified<Op, kFloat>(op.key(load<X>(in)));
    place = key < least ? index : place;
    least = key < least ? key : least;
  }
  T keys[sizeof(X) / sizeof(T)], places[sizeof(X) / sizeof(T)];
  __builtin_memcpy(keys, &least, sizeof keys);
  __builtin_memcpy(places, &place, sizeof places);
  for (std::size_t i = 0; i < sizeof(X) / sizeof(T); ++i)
    call.best[lane + static_cast<std::int64_t>(i)] = {keys[i], call.first + places[i]};
}

template <class T, bool kFloat>
void search_lanes(const Search& call) noexcept {
  const Least<T, kFloat> op(call.flip);
  constexpr std::int64_t kWide = kVectorBytes / sizeof(T);
  std::int64_t lane = 0;
  for (; lane + kWide <= call.rows; lane += kWide) search_lane<Vector<T>, kFloat>(op, call, lane);
  for (; lane < call.rows; ++lane) search_lane<T, kFloat>(op, call, lane);
}

template <class T, bool kFloat>
constexpr SearchKernels kernels_of(std::uint64_t flip) noexcept {
  return {&search<T, kFloat>, &search_lanes<T, kFloat>, flip};
}

}  // namespace

/// `dtype` is a real one, but neither float16 nor bfloat16.
SearchKernels search_kernels(bool greatest, ScalarType dtype) noexcept {
  const ScalarInfo& info = info_of(dtype);
  const std::uint64_t flip = order_flip(greatest, info.kind == Kind::kUInt, info.bits);
  if (info.kind == Kind::kFloat)
    return info.bits == 64 ? kernels_of<std::int64_t, true>(flip)
                           : kernels_of<std::int32_t, true>(flip);
  switch (info.bits) {
    case 8:
      return kernels_of<std::int8_t, false>(flip);
    case 16:
      return kernels_of<std::int16_t, false>(flip);
    case 32:
      return kernels_of<std::int32_t, false>(flip);
    default:
      return kernels_of<std::int64_t, false>(flip);
  }
}

}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
