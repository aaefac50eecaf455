// A naive model of a layout, for comparison: the list of the addresses of all elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/layout.hpp"

namespace refarray::check {

using List = std::vector<std::int64_t>;

/// The offsets of all elements, in elements, in row-major or column-major order of their indices.
inline List addresses(core::Extents shape, core::Extents strides, bool row_major = true) {
  List out{0};
  const std::size_t rank = shape.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = row_major ? i : rank - 1 - i;
    List longer;
    for (const std::int64_t base : out) {
      for (std::int64_t index = 0; index < shape[axis]; ++index)
        longer.push_back(base + index * strides[axis]);
    }
    out = longer;
  }
  return out;
}

inline bool same(core::Extents a, core::Extents b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

inline std::string show(core::Extents shape, core::Extents strides) {
  return core::shape_text(shape) + " strides " + core::shape_text(strides);
}

inline List addresses(const core::Layout& layout) {
  return addresses(layout.extents(), layout.stride_span());
}

/// Reproducible random numbers, with one seed per case.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  List list(std::size_t count, std::int64_t low, std::int64_t high) {
    List out(count);
    for (std::int64_t& value : out) value = between(low, high);
    return out;
  }
  /// Random bytes, eight from each number.
  void fill(std::byte* data, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += 8) {
      const std::uint64_t bits = engine_();
      std::memcpy(data + i, &bits, static_cast<std::size_t>(std::min<std::int64_t>(count - i, 8)));
    }
  }
  /// The numbers below `count` in any order.
  List permutation(std::size_t count) {
    List out(count);
    std::iota(out.begin(), out.end(), 0);
    std::shuffle(out.begin(), out.end(), engine_);
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

/// A random view: a row-major layout that is sliced, reversed, transposed and broadcast.
inline core::Layout random_view(Random& random, std::size_t rank) {
  const List whole = random.list(rank, 1, 6);
  core::Layout out = core::c_layout(whole);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t step = random.between(0, 3) == 0 ? 2 : 1;
    const bool reversed = random.between(0, 4) == 0;
    const bool broadcast = random.between(0, 9) == 0;
    out.shape[i] = random.between(0, 2) == 0 ? random.between(0, whole[i]) / step
                                             : (whole[i] + step - 1) / step;
    out.strides[i] *= broadcast ? 0 : reversed ? -step : step;
  }
  if (rank > 1 && random.between(0, 2) == 0) {
    const auto a = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(rank) - 1));
    std::swap(out.shape[0], out.shape[a]);
    std::swap(out.strides[0], out.strides[a]);
  }
  return out;
}

}  // namespace refarray::check
