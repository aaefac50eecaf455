// Copy kernels for elements that are not whole bytes: packed to packed, and between packed and
// padded.
#include <cstring>

#include "core/bits.hpp"
#include "core/copy/conversion_chain.hpp"

namespace refarray::core {

namespace {

void copy_bits(StridedSpan dst, StridedSpan src, std::int64_t count) noexcept {
  if (dst.bit == 0 && src.bit == 0) {
    std::memcpy(dst.data, src.data, static_cast<std::size_t>(count / 8));
    dst = dst.at(count / 8 * 8);
    src = src.at(count / 8 * 8);
    count %= 8;
  }
  while (count > 0) {
    const int room = 8 - dst.bit;
    const int width = count < room ? static_cast<int>(count) : room;
    write_bits(dst.data, dst.bit, width, read_bits(src.data, src.bit, width));
    dst = dst.at(width);
    src = src.at(width);
    count -= width;
  }
}

/// To a packed type. Bits between the elements are preserved.
void copy_elements(const StridedSpan& dst, const StridedSpan& src, std::int64_t count) noexcept {
  if (dst.stride == dst.width && src.stride == src.width) {
    copy_bits(dst, src, count * dst.width);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    copy_bits(dst.at(i * dst.stride), src.at(i * src.stride), dst.width);
}

/// To a padded type. The padding bits of each element become zero.
void copy_elements_padded(const StridedSpan& dst, const StridedSpan& src,
                          std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    const StridedSpan element = dst.at(i * dst.stride);
    element.data[dst.width / 8] = std::byte{0};
    copy_bits(element, src.at(i * src.stride), dst.width);
  }
}

/// A group is the smallest number of contiguous packed elements that is a whole number of bytes.
template <int Width>
constexpr int kGroup = Width % 4 == 0 ? 2 : 4;
template <int Width>
constexpr int kGroupBytes = Width * kGroup<Width> / 8;

/// The number of elements before the first byte-aligned one; `count` if there is none.
template <int Width>
std::int64_t unaligned_head(const StridedSpan& packed, std::int64_t count) noexcept {
  std::int64_t head = 0;
  if (packed.stride != Width) return count;
  while (head < kGroup<Width> && packed.at(head * Width).bit != 0) ++head;
  return head < kGroup<Width> && head < count ? head : count;
}

template <int Width>
void unpack_range(const StridedSpan& dst, const StridedSpan& src, std::int64_t begin,
                  std::int64_t end) noexcept {
  for (std::int64_t i = begin; i < end; ++i) {
    const StridedSpan from = src.at(i * src.stride);
    dst.data[i * (dst.stride / 8)] = std::byte(read_bits(from.data, from.bit, Width));
  }
}

/// Packed to padded scalars.
template <int Width>
void unpack(const StridedSpan& dst, const StridedSpan& src, std::int64_t count) noexcept {
  std::int64_t i = unaligned_head<Width>(src, count);
  unpack_range<Width>(dst, src, 0, i);
  const std::int64_t step = dst.stride / 8;
  const std::byte* from = src.at(i * src.stride).data;
  for (; i + kGroup<Width> <= count; i += kGroup<Width>, from += kGroupBytes<Width>) {
    std::uint32_t bits = 0;
    for (int k = 0; k < kGroupBytes<Width>; ++k)
      bits |= std::to_integer<std::uint32_t>(from[k]) << (8 * k);
    for (int k = 0; k < kGroup<Width>; ++k)
      dst.data[(i + k) * step] = std::byte((bits >> (Width * k)) & ((1U << Width) - 1));
  }
  unpack_range<Width>(dst, src, i, count);
}

template <int Width>
void pack_range(const StridedSpan& dst, const StridedSpan& src, std::int64_t begin,
                std::int64_t end) noexcept {
  for (std::int64_t i = begin; i < end; ++i) {
    const StridedSpan to = dst.at(i * dst.stride);
    write_bits(to.data, to.bit, Width, read_bits(src.data + i * (src.stride / 8), 0, Width));
  }
}

/// Padded to packed scalars.
template <int Width>
void pack(const StridedSpan& dst, const StridedSpan& src, std::int64_t count) noexcept {
  std::int64_t i = unaligned_head<Width>(dst, count);
  pack_range<Width>(dst, src, 0, i);
  const std::int64_t step = src.stride / 8;
  std::byte* to = dst.at(i * dst.stride).data;
  for (; i + kGroup<Width> <= count; i += kGroup<Width>, to += kGroupBytes<Width>) {
    std::uint32_t bits = 0;
    for (int k = 0; k < kGroup<Width>; ++k)
      bits |= read_bits(src.data + (i + k) * step, 0, Width) << (Width * k);
    for (int k = 0; k < kGroupBytes<Width>; ++k) to[k] = std::byte((bits >> (8 * k)) & 0xFFU);
  }
  pack_range<Width>(dst, src, i, count);
}

}  // namespace

Kernel move_kernel(const DType& to, const DType& from) noexcept {
  const int width = int{to.bits} * int{to.lanes};
  if (to.is_packed() && from.is_packed()) return &copy_elements;
  if (width == 4) return to.is_packed() ? &pack<4> : &unpack<4>;
  if (width == 6) return to.is_packed() ? &pack<6> : &unpack<6>;
  return to.is_packed() ? &copy_elements : &copy_elements_padded;
}

}  // namespace refarray::core
