// Blocks of elements, reduced lane by lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "compute/kernels/reducing/combinations.hpp"

namespace refarray::core::kernels::REFARRAY_OPERATIONS {
namespace {

/// The lanes of a block that are combined at once: eight vectors, which fit the registers.
template <class T>
struct Lanes {
  Vector<T> at[8];
};
constexpr int kLanesBytes = 8 * kVectorBytes;
constexpr int kParts = kRowBytes / kLanesBytes;

template <int kCount, class F>
[[gnu::always_inline]] inline void unrolled(F f) noexcept {
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (f(std::integral_constant<int, i>{}), ...);
  }(std::make_integer_sequence<int, kCount>{});
}

/// The keys of the lanes at `in`, combined over `rows` >= 1 rows.
template <class Op>
[[gnu::always_inline]] inline auto fold_rows(const Op& op, const std::byte* in,
                                             std::int64_t rows) noexcept {
  using V = Vector<typename Op::Lane>;
  Lanes<typename Op::Lane> acc;
  unrolled<8>([&](auto i) { acc.at[i] = op.key(load<V>(in + i * kVectorBytes)); });
  for (std::int64_t row = 1; row < rows; ++row) {
    in += kRowBytes;
    unrolled<8>(
        [&](auto i) { acc.at[i] = op.combine(acc.at[i], op.key(load<V>(in + i * kVectorBytes))); });
  }
  return acc;
}

/// The key of one element, or of the parts of one.
template <class Op>
struct Folded {
  typename Op::Lane parts[Op::kUnit];
};

/// The lanes of one vector, combined by halves.
template <class Op>
[[gnu::always_inline]] inline Folded<Op> fold_vector(const Op& op,
                                                     Vector<typename Op::Lane> vector) noexcept {
  using T = typename Op::Lane;
  constexpr int kWide = kVectorBytes / static_cast<int>(sizeof(T));
  T lanes[kWide];
  __builtin_memcpy(lanes, &vector, sizeof lanes);
#pragma GCC unroll 8
  for (int half = kWide / 2; half >= Op::kUnit; half /= 2) {
#pragma GCC unroll 32
    for (int i = 0; i < half; ++i) lanes[i] = op.combine(lanes[i], lanes[i + half]);
  }
  Folded<Op> out;
  __builtin_memcpy(out.parts, lanes, sizeof out.parts);
  return out;
}

/// The first lanes of `bytes` bytes at `in`; the others are neutral.
template <class T, int kBytes>
struct Padded {
  alignas(32) std::byte bytes[kBytes];
  [[gnu::always_inline]] Padded(T neutral, const std::byte* in, std::int64_t count) noexcept {
    const Vector<T> fill = neutral - Vector<T>{};  // -0.0 + 0.0 would be 0.0
    for (int i = 0; i < kBytes; i += kVectorBytes) store(bytes + i, fill);
    __builtin_memcpy(bytes, in, static_cast<std::size_t>(count));
  }
};

/// Combines the lanes of `kCount` whole vectors, a power of two.
template <int kCount, class Op>
[[gnu::always_inline]] inline Folded<Op> fold_vectors(const Op& op, const std::byte* in) noexcept {
  using V = Vector<typename Op::Lane>;
  V acc[kCount];
  unrolled<kCount>([&](auto i) { acc[i] = op.key(load<V>(in + i * kVectorBytes)); });
#pragma GCC unroll 4
  for (int half = kCount / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) acc[i] = op.combine(acc[i], acc[i + half]);
  }
  return fold_vector(op, acc[0]);
}

/// Combines the 1 to kBlockBytes bytes of a block.
template <class Op>
inline Folded<Op> fold_block(const Op& op, const std::byte* in, std::int64_t bytes) noexcept {
  using T = typename Op::Lane;
  using V = Vector<T>;
  switch (bytes) {
    case 128:
      return fold_vectors<128 / kVectorBytes>(op, in);
    case 256:
      return fold_vectors<256 / kVectorBytes>(op, in);
    default:
      break;
  }
  if (bytes <= kVectorBytes) {
    const Padded<T, kVectorBytes> only(op.neutral(), in, bytes);
    return fold_vector(op, op.key(load<V>(only.bytes)));
  }
  const std::int64_t rows = bytes / kRowBytes;
  const std::int64_t rest = bytes % kRowBytes;
  Lanes<T> parts[kParts];
  if (rest == 0) {
    unrolled<kParts>([&](auto p) { parts[p] = fold_rows(op, in + p * kLanesBytes, rows); });
  } else {
    const Padded<T, kRowBytes> last(op.neutral(), in + rows * kRowBytes, rest);
    unrolled<kParts>([&](auto p) {
      parts[p] = fold_rows(op, last.bytes + p * kLanesBytes, 1);
      if (rows == 0) return;
      const Lanes<T> whole = fold_rows(op, in + p * kLanesBytes, rows);
      unrolled<8>([&](auto i) { parts[p].at[i] = op.combine(whole.at[i], parts[p].at[i]); });
    });
  }
  Lanes<T>& acc = parts[0];
  if constexpr (kParts == 2)
    unrolled<8>([&](auto i) { acc.at[i] = op.combine(acc.at[i], parts[1].at[i]); });
  unrolled<4>([&](auto i) { acc.at[i] = op.combine(acc.at[i], acc.at[i + 4]); });
  unrolled<2>([&](auto i) { acc.at[i] = op.combine(acc.at[i], acc.at[i + 2]); });
  return fold_vector(op, op.combine(acc.at[0], acc.at[1]));
}

}  // namespace
}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
