// Copies between sequences in arrays and the planes of a tile.
//
// A tile is one sequence, or `width` of them side by side: element k of sequence b is at
// k * width + b of a plane. The planes of a buffer are one after the other in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/kernels/transforms/fourier.hpp"

namespace refarray::core {

/// Element k of sequence b is at data + k * step + b * pitch.
struct Sequences {
  std::byte* data;
  std::int64_t step;  // bytes, as pitch
  std::int64_t pitch;
};

/// A tile, and a buffer of the same size whose contents are lost.
template <class T>
struct Buffers {
  kernels::Planes<T> data;
  kernels::Planes<T> spare;
};

/// The elements are pairs: two of T, `second` bytes apart, for the two planes of `to.data`.
template <class T>
void load_pairs(const Buffers<T>& to, const Sequences& from, std::int64_t second,
                std::int64_t count, std::int64_t width) noexcept;
template <class T>
void store_pairs(const Sequences& to, std::int64_t second, const Buffers<T>& from,
                 std::int64_t count, std::int64_t width) noexcept;

/// The elements are of T.
template <class T>
void load_plane(T* plane, const Sequences& from, std::int64_t count, std::int64_t width) noexcept;
template <class T>
void store_plane(const Sequences& to, const T* plane, std::int64_t count,
                 std::int64_t width) noexcept;

}  // namespace refarray::core
