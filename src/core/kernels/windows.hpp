// Copy kernel for short rows into contiguous memory, and for rows with any small step: one window
// of src at a time, whose words a byte shuffle brings into the order of dst.
#pragma once

#include "core/kernels/table.hpp"
#include "core/kernels/vector.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace refarray::core::kernels {
namespace {

/// Bytes that one instruction shuffles by run-time indices; 0: no such instruction.
#if defined(REFARRAY_PLAIN)
constexpr int kWindow = 0;
#elif defined(__AVX512VBMI__)
constexpr int kWindow = 64;
#elif defined(__SSSE3__) || defined(__aarch64__)
constexpr int kWindow = 16;
#else
constexpr int kWindow = 0;
#endif

using Window = Vector<1, (kWindow > 16 ? kWindow : 16)>;

/// Byte i of the result is byte indices[i] of `bytes`.
[[gnu::always_inline]] inline Window pick(Window bytes, Window indices) noexcept {
#if defined(__AVX512VBMI__)
  // Masked, because g++ 12 warns of an uninitialized value in the unmasked one.
  return __builtin_bit_cast(
      Window, _mm512_maskz_permutexvar_epi8(~__mmask64{0}, __builtin_bit_cast(__m512i, indices),
                                            __builtin_bit_cast(__m512i, bytes)));
#elif defined(__SSSE3__)
  return __builtin_bit_cast(Window, _mm_shuffle_epi8(__builtin_bit_cast(__m128i, bytes),
                                                     __builtin_bit_cast(__m128i, indices)));
#elif defined(__aarch64__)
  return __builtin_bit_cast(Window, vqtbl1q_u8(__builtin_bit_cast(uint8x16_t, bytes),
                                               __builtin_bit_cast(uint8x16_t, indices)));
#else
  static_cast<void>(indices);
  return bytes;
#endif
}

inline std::int64_t magnitude(std::int64_t value) noexcept { return value < 0 ? -value : value; }

inline void skip_rows(Plane& plane, std::int64_t rows) noexcept {
  plane.dst += rows * plane.dst_pitch;
  plane.src += rows * plane.src_pitch;
  plane.rows -= rows;
}

/// Copies as many of the first rows as whole windows allow, and returns their number. Rows follow
/// each other without gaps in dst. A window is stored whole, and the next one, or the caller,
/// overwrites what is beyond its rows. Windows lie within the memory that src spans, where gaps
/// shorter than a window contain no page of their own.
template <int kWordSize>
std::int64_t copy_windows(const Plane& plane) noexcept {
  if (kWindow == 0 || plane.src_pitch == 0) return 0;
  constexpr std::int64_t kWorthwhile = 4;  // words in a window, and windows
  const std::int64_t pitch = magnitude(plane.src_pitch);
  const std::int64_t row_bytes = plane.count * kWordSize;
  if (pitch > kWindow || row_bytes > kWindow || magnitude(plane.src_step) > kWindow) return 0;
  const std::int64_t reach = (plane.count - 1) * plane.src_step;
  const std::int64_t row_span = magnitude(reach) + kWordSize;
  if (row_span > kWindow) return 0;
  const std::int64_t rows = min(kWindow / row_bytes, (kWindow - row_span) / pitch + 1);
  if (rows * plane.count < kWorthwhile) return 0;

  // From the first word of a window's first row to the window: it begins with the lowest byte of
  // its rows if the rows ascend, and ends with their highest one if they descend.
  const std::int64_t low = min(reach, 0);
  const std::int64_t begin = plane.src_pitch > 0 ? low : low + row_span - kWindow;
  const std::int64_t unused = kWindow - row_span - (rows - 1) * pitch;
  const std::int64_t rows_after = (unused + pitch - 1) / pitch;  // that contain the unused bytes
  const std::int64_t stores = (plane.rows * row_bytes - kWindow) / (rows * row_bytes) + 1;
  const std::int64_t count = min(stores, (plane.rows - rows_after) / rows);
  if (plane.rows * row_bytes < kWindow || count < kWorthwhile) return 0;

  std::uint8_t order[sizeof(Window)] = {};
  int next = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < plane.count; ++i) {
      const std::int64_t from = row * plane.src_pitch + i * plane.src_step - begin;
      for (int byte = 0; byte < kWordSize; ++byte)
        order[next++] = static_cast<std::uint8_t>(from + byte);
    }
  }
  Window indices;
  __builtin_memcpy(&indices, order, sizeof indices);
  std::byte* dst = plane.dst;
  const std::byte* src = plane.src + begin;
  for (std::int64_t i = 0; i < count; ++i) {
    store(dst, pick(load<Window>(src), indices));
    dst += rows * row_bytes;
    src += rows * plane.src_pitch;
  }
  return count * rows;
}

}  // namespace
}  // namespace refarray::core::kernels
