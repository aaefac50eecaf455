// Copy kernel for contiguous rows: two overlapping loads and stores for short rows, memcpy() or
// non-temporal stores for long ones.
#pragma once

#include "core/kernels/table.hpp"
#include "core/kernels/vector.hpp"

namespace refarray::core::kernels {
namespace {

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
    if (prefetch_distance != 0) {
      for (std::int64_t at = 0; at < plane.count; at += kLine)
        __builtin_prefetch(src + prefetch_distance + at);
    }
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

void copy_long_rows(const Plane& plane) noexcept {
  constexpr std::int64_t kWorthStreaming = 512;
  const bool streams = plane.streams && plane.count >= kWorthStreaming;
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    std::byte* const dst = plane.dst + row * plane.dst_pitch;
    const std::byte* const src = plane.src + row * plane.src_pitch;
    if (streams)
      stream_bytes(dst, src, plane.count);
    else
      __builtin_memcpy(dst, src, static_cast<std::size_t>(plane.count));
  }
}

void copy_rows(const Plane& plane) noexcept {
  const std::int64_t bytes = plane.count;
  if (bytes > 256 || plane.rows == 1) return copy_long_rows(plane);
  if (bytes >= 128) return copy_short_rows<128>(plane);
  if (bytes >= 64) return copy_short_rows<64>(plane);
  if (bytes >= 32) return copy_short_rows<32>(plane);
  if (bytes >= 16) return copy_short_rows<16>(plane);
  if (bytes >= 8) return copy_short_rows<8>(plane);
  if (bytes >= 4) return copy_short_rows<4>(plane);
  if (bytes >= 2) return copy_short_rows<2>(plane);
  copy_short_rows<1>(plane);
}

}  // namespace
}  // namespace refarray::core::kernels
