// Implements copies of tiles by the kernels of copies.
#include "compute/fft/tile_copies.hpp"

#include <algorithm>
#include <bit>

#include "core/kernels/table.hpp"

namespace refarray::core {
namespace {

using kernels::table;

constexpr std::int64_t kColumns = 64;  // of one transpose

constexpr int word_index(std::int64_t size) noexcept {
  return std::countr_zero(static_cast<std::uint64_t>(size));
}

template <class T>
std::byte* bytes_of(T* plane) noexcept {
  return reinterpret_cast<std::byte*>(plane);
}
template <class T>
const std::byte* bytes_of(const T* plane) noexcept {
  return reinterpret_cast<const std::byte*>(plane);
}

/// Words of `size` bytes from sequences that are contiguous, into a tile.
void transpose_in(std::byte* to, const Sequences& from, std::int64_t size, std::int64_t count,
                  std::int64_t width) noexcept {
  std::int64_t offsets[kColumns];
  for (std::int64_t k = 0; k < kColumns; ++k) offsets[k] = k * width * size;
  for (std::int64_t k = 0; k < count; k += kColumns) {
    table().transpose[word_index(size)]({to + k * width * size, offsets, from.data + k * size,
                                         from.pitch, width, std::min(kColumns, count - k), false});
  }
}

/// The reverse of transpose_in().
void transpose_out(const Sequences& to, const std::byte* from, std::int64_t size,
                   std::int64_t count, std::int64_t width) noexcept {
  std::int64_t offsets[kColumns];
  for (std::int64_t b = 0; b < width; b += kColumns) {
    const std::int64_t columns = std::min(kColumns, width - b);
    for (std::int64_t i = 0; i < columns; ++i) offsets[i] = (b + i) * to.pitch;
    table().transpose[word_index(size)](
        {to.data, offsets, from + b * size, width * size, count, columns, false});
  }
}

/// Copies words of `size` bytes into a tile.
void load_words(std::byte* to, const Sequences& from, std::int64_t size, std::int64_t count,
                std::int64_t width) noexcept {
  const std::int64_t row = width * size;
  if (from.pitch == size && width > 1) {
    table().rows({to, from.data, row, 1, 1, count, row, from.step, false});
  } else if (from.step == size && width > 1) {
    transpose_in(to, from, size, count, width);
  } else if (width == 1) {
    table().strided[word_index(size)]({to, from.data, count, size, from.step, 1, 0, 0, false});
  } else {
    table().strided[word_index(size)](
        {to, from.data, width, size, from.pitch, count, row, from.step, false});
  }
}

void store_words(const Sequences& to, const std::byte* from, std::int64_t size, std::int64_t count,
                 std::int64_t width) noexcept {
  const std::int64_t row = width * size;
  if (to.pitch == size && width > 1) {
    table().rows({to.data, from, row, 1, 1, count, to.step, row, false});
  } else if (to.step == size && width > 1) {
    transpose_out(to, from, size, count, width);
  } else if (width == 1) {
    table().strided[word_index(size)]({to.data, from, count, to.step, size, 1, 0, 0, false});
  } else {
    table().strided[word_index(size)](
        {to.data, from, width, to.pitch, size, count, to.step, row, false});
  }
}

}  // namespace

template <class T>
void load_pairs(const Buffers<T>& to, const Sequences& from, std::int64_t second,
                std::int64_t count, std::int64_t width) noexcept {
  constexpr std::int64_t kSize = sizeof(T);
  if (second != kSize) {
    load_plane(to.data.real, from, count, width);
    load_plane(to.data.imag, {from.data + second, from.step, from.pitch}, count, width);
    return;
  }
  const std::byte* pairs = from.data;
  if (width > 1 || from.step != 2 * kSize) {
    load_words(bytes_of(to.spare.real), from, 2 * kSize, count, width);
    pairs = bytes_of(to.spare.real);
  }
  table().deinterleave[word_index(kSize)]({bytes_of(to.data.real), pairs, count * width,
                                           (to.data.imag - to.data.real) * kSize, 2, false});
}

template <class T>
void store_pairs(const Sequences& to, std::int64_t second, const Buffers<T>& from,
                 std::int64_t count, std::int64_t width) noexcept {
  constexpr std::int64_t kSize = sizeof(T);
  if (second != kSize) {
    store_plane(to, from.data.real, count, width);
    store_plane({to.data + second, to.step, to.pitch}, from.data.imag, count, width);
    return;
  }
  const bool is_direct = width == 1 && to.step == 2 * kSize;
  std::byte* const pairs = is_direct ? to.data : bytes_of(from.spare.real);
  table().interleave[word_index(kSize)]({pairs, bytes_of(from.data.real), count * width,
                                         (from.data.imag - from.data.real) * kSize, 2, false});
  if (!is_direct) store_words(to, pairs, 2 * kSize, count, width);
}

template <class T>
void load_plane(T* plane, const Sequences& from, std::int64_t count, std::int64_t width) noexcept {
  load_words(bytes_of(plane), from, sizeof(T), count, width);
}

template <class T>
void store_plane(const Sequences& to, const T* plane, std::int64_t count,
                 std::int64_t width) noexcept {
  store_words(to, bytes_of(plane), sizeof(T), count, width);
}

template void load_pairs(const Buffers<float>&, const Sequences&, std::int64_t, std::int64_t,
                         std::int64_t) noexcept;
template void load_pairs(const Buffers<double>&, const Sequences&, std::int64_t, std::int64_t,
                         std::int64_t) noexcept;
template void store_pairs(const Sequences&, std::int64_t, const Buffers<float>&, std::int64_t,
                          std::int64_t) noexcept;
template void store_pairs(const Sequences&, std::int64_t, const Buffers<double>&, std::int64_t,
                          std::int64_t) noexcept;
template void load_plane(float*, const Sequences&, std::int64_t, std::int64_t) noexcept;
template void load_plane(double*, const Sequences&, std::int64_t, std::int64_t) noexcept;
template void store_plane(const Sequences&, const float*, std::int64_t, std::int64_t) noexcept;
template void store_plane(const Sequences&, const double*, std::int64_t, std::int64_t) noexcept;

}  // namespace refarray::core
