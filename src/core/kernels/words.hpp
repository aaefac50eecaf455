// Copies of strided rows word by word, and by windows where src is dense enough for them.
#pragma once

#include <utility>

#include "core/kernels/table.hpp"
#include "core/kernels/vector.hpp"
#include "core/kernels/windows.hpp"

namespace refarray::core::kernels {
namespace {

/// Word by word, in pieces that are stored whole: fewer stores wait while words of src arrive from
/// beyond the L2 cache. (Words of 16 bytes are stored in pieces of that size anyway.)
template <int kWordSize>
inline std::int64_t collect_words(std::byte* dst, const std::byte* src, std::int64_t src_step,
                                  std::int64_t count) noexcept {
  using T = typename WordOf<kWordSize>::type;
  constexpr std::int64_t kCount = 32 / kWordSize;
  std::int64_t i = 0;
  for (; i + kCount <= count; i += kCount) {
    T piece[kCount];
#pragma GCC unroll 32
    for (int j = 0; j < kCount; ++j, src += src_step) piece[j] = load<T>(src);
    __builtin_memcpy(dst + i * kWordSize, piece, sizeof piece);
  }
  return i;
}

template <int kWordSize>
inline void copy_words(std::byte* dst, const std::byte* src, std::int64_t dst_step,
                       std::int64_t src_step, std::int64_t count) noexcept {
  using T = typename WordOf<kWordSize>::type;
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const T a = load<T>(src);
    const T b = load<T>(src + src_step);
    const T c = load<T>(src + 2 * src_step);
    const T d = load<T>(src + 3 * src_step);
    store(dst, a);
    store(dst + dst_step, b);
    store(dst + 2 * dst_step, c);
    store(dst + 3 * dst_step, d);
    src += 4 * src_step;
    dst += 4 * dst_step;
  }
  for (; i < count; ++i, src += src_step, dst += dst_step) store(dst, load<T>(src));
}

/// `row(dst, src)` for every row.
template <class Row>
[[gnu::always_inline]] inline void each_row(const Plane& plane, Row row) noexcept {
  for (std::int64_t i = 0; i < plane.rows; ++i)
    row(plane.dst + i * plane.dst_pitch, plane.src + i * plane.src_pitch);
}

/// Makes the words of a row the rows, and the rows words.
inline void swap_axes(Plane& plane) noexcept {
  std::swap(plane.count, plane.rows);
  std::swap(plane.dst_step, plane.dst_pitch);
  std::swap(plane.src_step, plane.src_pitch);
}

template <int kWordSize>
inline void copy_words_of_rows(const Plane& plane) noexcept {
  constexpr std::int64_t kFarBytes = 2 << 20;  // more than an L2 cache
  const bool is_far = plane.rows * plane.count > kFarBytes / (magnitude(plane.src_step) + 1);
  const bool collects = kWordSize <= 8 && is_far && plane.dst_step == kWordSize;
  each_row(plane, [&plane, collects](std::byte* dst, const std::byte* src) {
    const std::int64_t done =
        collects ? collect_words<kWordSize>(dst, src, plane.src_step, plane.count) : 0;
    copy_words<kWordSize>(dst + done * plane.dst_step, src + done * plane.src_step, plane.dst_step,
                          plane.src_step, plane.count - done);
  });
}

/// Copies the plane by windows of src as far as they reach. False if there are none.
template <int kWordSize>
bool copy_by_windows(const Plane& plane) noexcept {
  const std::int64_t done = copy_windows<kWordSize>(plane);
  if (done == 0) return false;
  Plane rest = plane;
  skip_rows(rest, done);
  copy_words_of_rows<kWordSize>(rest);
  return true;
}

/// Contiguous rows of words with any small step. False when src is not dense enough for windows.
template <int kWordSize>
bool copy_dense(const Plane& plane) noexcept {
  if (plane.dst_step != kWordSize) return false;
  if (plane.dst_pitch == plane.count * kWordSize && copy_by_windows<kWordSize>(plane)) return true;
  Plane row = plane;  // a word becomes a row
  row.rows = plane.count;
  row.count = 1;
  row.src_step = 0;
  row.dst_pitch = kWordSize;
  row.src_pitch = plane.src_step;
  for (std::int64_t i = 0; i < plane.rows; ++i) {
    if (!copy_by_windows<kWordSize>(row)) return false;
    row.dst += plane.dst_pitch;
    row.src += plane.src_pitch;
  }
  return true;
}

}  // namespace
}  // namespace refarray::core::kernels
