// Copy kernel for rows of words at equal distances: vectorized fill, reversal, gather of every
// second to fourth word and scatter to every second one; any other step word by word.
#pragma once

#include "core/kernels/interleave.hpp"
#include "core/kernels/table.hpp"
#include "core/kernels/vector.hpp"
#include "core/kernels/words.hpp"

namespace refarray::core::kernels {
namespace {

/// write_row() with non-temporal stores. The bytes before the first and after the last whole line
/// go through `edge`: an ordinary store to a line that is being streamed waits for the memory.
template <int kWordSize, class Result, class Last>
[[gnu::always_inline]] inline void stream_row(std::byte* dst, std::int64_t count, Result result,
                                              Last last) noexcept {
  constexpr std::int64_t kCount = kWidth / kWordSize;
  alignas(kLine) std::byte edge[kLine];
  const std::int64_t head = bytes_to_line(dst);
  for (std::int64_t at = 0; at < head; at += kWidth) store(edge + at, result(at / kWordSize));
  __builtin_memcpy(dst, edge, static_cast<std::size_t>(head));
  const std::int64_t lines = ((count - 1) * kWordSize - head) / kLine;
  const std::int64_t end = (head + lines * kLine) / kWordSize;
  std::int64_t at = head / kWordSize;
  for (; at < end; at += kCount) stream(dst + at * kWordSize, result(at));
  for (; at + kCount < count; at += kCount) store(dst + at * kWordSize, result(at));
  store(edge, last());
  const std::int64_t tail = (count - at) * kWordSize;
  __builtin_memcpy(dst + at * kWordSize, edge + kWidth - tail, static_cast<std::size_t>(tail));
}

/// Stores a contiguous row of at least one vector: `result(i)` is the vector that begins with word
/// i, `last()` the one that ends the row. `result(i)` may read beyond word i + kCount - 1, so it is
/// called only where at least one more word follows.
template <int kWordSize, class Result, class Last>
[[gnu::always_inline]] inline void write_row(std::byte* dst, std::int64_t count, bool streams,
                                             Result result, Last last) noexcept {
  constexpr std::int64_t kCount = kWidth / kWordSize;
  if (streams && bytes_to_line(dst) % kWordSize == 0 && count * kWordSize >= kWorthStreaming)
    return stream_row<kWordSize>(dst, count, result, last);
  std::int64_t at = 0;
#pragma GCC unroll 4
  for (; at + kCount < count; at += kCount) store(dst + at * kWordSize, result(at));
  store(dst + (count - kCount) * kWordSize, last());
}

template <int kWordSize>
struct Backwards {
  static constexpr int at(int i) { return kWidth / kWordSize - 1 - i; }
};

template <int kWordSize>
inline void reverse_row(std::byte* dst, const std::byte* src, std::int64_t count,
                        bool streams) noexcept {
  using V = Vector<kWordSize, kWidth>;
  constexpr std::int64_t kCount = kWidth / kWordSize;
  const auto result = [src](std::int64_t at) {
    const V in = load<V>(src - (at + kCount - 1) * kWordSize);
    return shuffle<kWordSize, kWidth, Backwards<kWordSize>>(in, in);
  };
  write_row<kWordSize>(dst, count, streams, result, [&] { return result(count - kCount); });
}

/// Every kParts-th word. Each step reads kParts - 1 words after the last one it needs; the last
/// step reads them before its first one instead.
template <int kWordSize, int kParts>
inline void gather_row(std::byte* dst, const std::byte* src, std::int64_t count,
                       bool streams) noexcept {
  using V = Vector<kWordSize, kWidth>;
  constexpr std::int64_t kCount = kWidth / kWordSize;
  const auto read = [](const std::byte* from, V* in) {
    for (int part = 0; part < kParts; ++part) in[part] = load<V>(from + part * kWidth);
  };
  const auto result = [&](std::int64_t at) {
    V in[kParts];
    read(src + at * kWordSize * kParts, in);
    return Deinterleaved<kWordSize, kWidth, kParts, 0>::of(in);
  };
  const auto last = [&] {
    V in[kParts];
    read(src + ((count - kCount) * kParts - (kParts - 1)) * kWordSize, in);
    return Deinterleaved<kWordSize, kWidth, kParts, kParts - 1>::of(in);
  };
  write_row<kWordSize>(dst, count, streams, result, last);
}

template <int kWordSize>
inline void fill_row(std::byte* dst, const std::byte* src, std::int64_t count) noexcept {
  using V = Vector<kWordSize, kWidth>;
  std::byte bytes[kWidth];
  for (int i = 0; i < kWidth; i += kWordSize) __builtin_memcpy(bytes + i, src, kWordSize);
  const V value = load<V>(bytes);
  write_row<kWordSize>(
      dst, count, false, [value](std::int64_t) { return value; }, [value] { return value; });
}

#if defined(__AVX512VBMI__)
template <int kWordSize>
[[gnu::always_inline]] inline void store_masked(std::byte* dst, std::uint64_t words,
                                                Vector<kWordSize, 64> value) noexcept {
  const auto bits = __builtin_bit_cast(__m512i, value);
  if constexpr (kWordSize == 1) _mm512_mask_storeu_epi8(dst, words, bits);
  if constexpr (kWordSize == 2) _mm512_mask_storeu_epi16(dst, static_cast<__mmask32>(words), bits);
  if constexpr (kWordSize == 4) _mm512_mask_storeu_epi32(dst, static_cast<__mmask16>(words), bits);
  if constexpr (kWordSize == 8) _mm512_mask_storeu_epi64(dst, static_cast<__mmask8>(words), bits);
}

/// To every second word. The words between them are not written, not even with their own value:
/// another thread may be writing them.
template <int kWordSize>
inline void scatter_row(std::byte* dst, const std::byte* src, std::int64_t count) noexcept {
  using V = Vector<kWordSize, 64>;
  constexpr std::int64_t kCount = 64 / kWordSize;
  constexpr std::uint64_t kEven = 0x5555'5555'5555'5555U;
  std::int64_t at = 0;
  for (; at + kCount <= count; at += kCount) {
    const V value = load<V>(src + at * kWordSize);
    const V twice[2] = {value, value};
    std::byte* const to = dst + 2 * at * kWordSize;
    store_masked<kWordSize>(to, kEven, Interleaved<kWordSize, 64, 2, 0>::of(twice));
    store_masked<kWordSize>(to + 64, kEven, Interleaved<kWordSize, 64, 2, 1>::of(twice));
  }
  copy_words<kWordSize>(dst + 2 * at * kWordSize, src + at * kWordSize, 2 * kWordSize, kWordSize,
                        count - at);
}
#endif

/// False when there is no vectorized kernel for these steps.
template <int kWordSize>
bool copy_vectors(const Plane& plane) noexcept {
  const std::int64_t count = plane.count;
  const bool streams = plane.streams;
  if (count <= kWidth / kWordSize) return false;
#if defined(__AVX512VBMI__)
  if (kWordSize <= 8 && plane.src_step == kWordSize && plane.dst_step == 2 * kWordSize) {
    each_row(plane, [=](std::byte* dst, const std::byte* src) {
      scatter_row<kWordSize>(dst, src, count);
    });
    return true;
  }
#endif
  if (plane.dst_step != kWordSize) return false;
  const auto run = [&plane, count, streams](auto row) {
    each_row(plane, [=](std::byte* dst, const std::byte* src) { row(dst, src, count, streams); });
    return true;
  };
  if (plane.src_step == 0) {
    each_row(plane, [count](std::byte* dst, const std::byte* src) {
      fill_row<kWordSize>(dst, src, count);
    });
    return true;
  }
  if (plane.src_step == -kWordSize) return run(&reverse_row<kWordSize>);
  if (plane.src_step == 2 * kWordSize) return run(&gather_row<kWordSize, 2>);
  if (plane.src_step == 3 * kWordSize) return run(&gather_row<kWordSize, 3>);
  if (plane.src_step == 4 * kWordSize) return run(&gather_row<kWordSize, 4>);
  return false;
}

template <int kWordSize>
void copy_strided(const Plane& plane) noexcept {
  constexpr std::int64_t kShortRow = 8;  // words
  if constexpr (kWindow != 0 && kWordSize <= 8) {
    if (plane.count < kShortRow && copy_dense<kWordSize>(plane)) return;
  }
  Plane turned = plane;  // a loop over a few words costs more than locality saves
  if (plane.count < kShortRow && plane.rows > plane.count) swap_axes(turned);
  if constexpr (!kPlain) {
    if (copy_vectors<kWordSize>(turned)) return;
  }
  if constexpr (kWindow != 0 && kWordSize <= 8) {
    if (plane.count >= kShortRow && copy_dense<kWordSize>(plane)) return;
  }
  copy_words_of_rows<kWordSize>(turned);
}

}  // namespace
}  // namespace refarray::core::kernels
