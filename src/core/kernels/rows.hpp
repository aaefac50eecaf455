// Copy kernel for contiguous rows: two overlapping loads and stores for short rows, memcpy() or
// non-temporal stores for long ones.
#pragma once

#include "core/kernels/table.hpp"
#include "core/kernels/vector.hpp"
#include "core/kernels/windows.hpp"

namespace refarray::core::kernels {
namespace {

constexpr std::int64_t kLongRow = 8192;  // bytes from which memcpy() is as fast

/// Rows of kPiece to 2 * kPiece bytes: copies the first and, unless kIsWhole, the last kPiece
/// bytes.
template <int kPiece, bool kIsWhole>
inline void copy_pieces(const Plane& plane) noexcept {
  using Piece = Vector<1, kPiece>;
  const std::int64_t last = plane.count - kPiece;
  const std::int64_t prefetch_distance = plane.prefetch_distance;
  std::byte* dst = plane.dst;
  const std::byte* src = plane.src;
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    if (prefetch_distance != 0) __builtin_prefetch(src + prefetch_distance);
    const Piece head = load<Piece>(src);
    if constexpr (!kIsWhole) {
      const Piece tail = load<Piece>(src + last);
      store(dst + last, tail);
    }
    store(dst, head);
    dst += plane.dst_pitch;
    src += plane.src_pitch;
  }
}

template <int kPiece>
void copy_short_rows(const Plane& plane) noexcept {
  plane.count == kPiece ? copy_pieces<kPiece, true>(plane) : copy_pieces<kPiece, false>(plane);
}

void stream_bytes(std::byte* dst, const std::byte* src, std::int64_t count) noexcept {
  using Piece = Vector<1, (kPlain ? 16 : kWidth)>;
  constexpr std::int64_t kPiece = sizeof(Piece);
  const std::int64_t head = bytes_to_line(dst);
  __builtin_memcpy(dst, src, static_cast<std::size_t>(head));
  std::int64_t at = head;
  for (; at + 4 * kPiece <= count; at += 4 * kPiece) {
    const Piece a = load<Piece>(src + at);
    const Piece b = load<Piece>(src + at + kPiece);
    const Piece c = load<Piece>(src + at + 2 * kPiece);
    const Piece d = load<Piece>(src + at + 3 * kPiece);
    stream(dst + at, a);
    stream(dst + at + kPiece, b);
    stream(dst + at + 2 * kPiece, c);
    stream(dst + at + 3 * kPiece, d);
  }
  __builtin_memcpy(dst + at, src + at, static_cast<std::size_t>(count - at));
}

template <bool kStreams>
[[gnu::always_inline]] inline void copy_line(std::byte* dst, const std::byte* src) noexcept {
  using Piece = Vector<1, (kPlain ? 16 : kWidth)>;
  constexpr int kPieces = kLine / static_cast<int>(sizeof(Piece));
  Piece pieces[kPieces];
#pragma GCC unroll 4
  for (int i = 0; i < kPieces; ++i) pieces[i] = load<Piece>(src + i * sizeof(Piece));
#pragma GCC unroll 4
  for (int i = 0; i < kPieces; ++i) write<kStreams>(dst + i * sizeof(Piece), pieces[i]);
}

/// Rows of more than one line, by lines; the last one may overlap the one before it. Without
/// prefetching: rows of two lines and more start the hardware prefetcher. `kStreams` requires rows
/// of whole lines at line boundaries of dst.
template <bool kStreams>
void copy_lines(const Plane& plane) noexcept {
  const std::int64_t last = plane.count - kLine;
  std::byte* dst = plane.dst;
  const std::byte* src = plane.src;
  for (std::int64_t row = 0; row < plane.rows; ++row) {
#pragma GCC unroll 4
    for (std::int64_t at = 0; at < last; at += kLine) copy_line<kStreams>(dst + at, src + at);
    copy_line<kStreams>(dst + last, src + last);
    dst += plane.dst_pitch;
    src += plane.src_pitch;
  }
}

bool is_whole_lines(const Plane& plane) noexcept {
  return plane.count % kLine == 0 && plane.dst_pitch % kLine == 0 && bytes_to_line(plane.dst) == 0;
}

void copy_long_rows(const Plane& plane) noexcept {
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    std::byte* const dst = plane.dst + row * plane.dst_pitch;
    const std::byte* const src = plane.src + row * plane.src_pitch;
    if (plane.streams && plane.count >= kWorthStreaming)
      stream_bytes(dst, src, plane.count);
    else
      __builtin_memcpy(dst, src, static_cast<std::size_t>(plane.count));
  }
}

void copy_short_rows(const Plane& plane) noexcept {
  const std::int64_t bytes = plane.count;
  if (bytes >= 32) return copy_short_rows<32>(plane);
  if (bytes >= 16) return copy_short_rows<16>(plane);
  if (bytes >= 8) return copy_short_rows<8>(plane);
  if (bytes >= 4) return copy_short_rows<4>(plane);
  if (bytes >= 2) return copy_short_rows<2>(plane);
  copy_short_rows<1>(plane);
}

void copy_rows(const Plane& plane) noexcept {
  const std::int64_t bytes = plane.count;
  if (bytes > kLongRow || plane.rows == 1) return copy_long_rows(plane);
  if (bytes >= kLine) {
    if (plane.streams && is_whole_lines(plane)) return copy_lines<true>(plane);
    if (plane.streams && bytes >= kWorthStreaming) return copy_long_rows(plane);
    return copy_lines<false>(plane);
  }
  Plane rest = plane;
  rest.src_step = 1;
  if (plane.dst_pitch == bytes) skip_rows(rest, copy_windows<1>(rest));
  copy_short_rows(rest);
}

}  // namespace
}  // namespace refarray::core::kernels
