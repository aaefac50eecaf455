// Operands of computations: random arrays and strided views, contiguous copies, guarded outputs,
// comparison, and interrupts.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/array.hpp"
#include "core/copy/copy.hpp"
#include "naive.hpp"

namespace refarray::check {

using core::Array;
using core::ArrayView;
using core::DType;
using core::Kind;
using core::Layout;
using core::new_array;

/// Random bits, but mostly small numbers: those of an int8, converted.
inline Array random_array(Random& random, const DType& dtype, const List& shape) {
  Array out = new_array(dtype, shape, false);
  random.fill(out.data, out.view().nbytes());
  if (dtype.kind == Kind::kBool || random.between(0, 3) == 0) return out;
  const Array small = new_array({Kind::kInt, 8}, shape, false);
  const std::int64_t size = small.view().size();
  random.fill(small.data, size);
  std::transform(small.data, small.data + size, small.data, [](std::byte bits) {
    return static_cast<std::byte>(static_cast<int>(bits) % 19 - 9);
  });
  copy(out, small);
  return out;
}

template <class T>
inline bool is_nan_at(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value != value;
}

/// Equal bits, or both NaN: which NaN a sum of two gives depends on the order of the instruction's
/// operands.
inline bool same(const DType& dtype, const std::byte* a, const std::byte* b, std::int64_t count) {
  const bool is_complex = dtype.is_complex();
  const int bytes = is_complex ? dtype.itemsize() / 2 : dtype.itemsize();
  const bool is_floating = is_complex || dtype.kind == Kind::kFloat;
  for (std::int64_t i = 0; i < (is_complex ? 2 * count : count); ++i) {
    if (std::memcmp(a + i * bytes, b + i * bytes, static_cast<std::size_t>(bytes)) == 0) continue;
    if (is_floating && bytes == 4 && is_nan_at<float>(a, i) && is_nan_at<float>(b, i)) continue;
    if (is_floating && bytes == 8 && is_nan_at<double>(a, i) && is_nan_at<double>(b, i)) continue;
    if (bytes == 2 && dtype.kind != Kind::kInt && dtype.kind != Kind::kUInt) {
      std::uint16_t x, y;
      std::memcpy(&x, a + 2 * i, 2);
      std::memcpy(&y, b + 2 * i, 2);
      const unsigned infinity = dtype.kind == Kind::kFloat ? 0x7C00U : 0x7F80U;
      if ((x & 0x7FFFU) > infinity && (y & 0x7FFFU) > infinity) continue;
    }
    return false;
  }
  return true;
}

inline Array contiguous(const ArrayView& view) {
  Array out = new_array(view.dtype, view.extents(), false);
  copy(out, view);
  return out;
}

constexpr std::int64_t kGuard = 64;  // elements before and after an output

/// An array amid elements that nothing may write.
struct Guarded {
  Guarded(Random& random, const DType& dtype, const List& shape)
      : whole(random_array(random, dtype, {2 * kGuard + core::size_of(shape)})),
        before(contiguous(whole)),
        array(with_layout(whole, core::c_layout(shape), kGuard)) {}

  bool is_intact() const {
    const std::int64_t itemsize = array.dtype.itemsize();
    const std::int64_t end = kGuard * itemsize + array.view().nbytes();
    const auto same_bytes = [&](std::int64_t from, std::int64_t count) {
      return std::memcmp(whole.data + from, before.data + from, static_cast<std::size_t>(count)) ==
             0;
    };
    return same_bytes(0, kGuard * itemsize) && same_bytes(end, kGuard * itemsize);
  }

  Array whole;
  Array before;
  Array array;
};

/// A view with random strides in a larger random array, which broadcasts to `shape`.
inline Array random_view(Random& random, const DType& dtype, const List& shape) {
  List base, steps;
  for (const std::int64_t extent : shape) {
    const bool repeats = random.between(0, 4) == 0;
    steps.push_back(repeats ? 0 : random.between(1, 3) * (random.between(0, 1) == 0 ? 1 : -1));
    base.push_back(repeats ? 1 : extent * std::abs(steps.back()));
  }
  const List order = random.permutation(shape.size());
  List permuted;
  for (const std::int64_t axis : order) permuted.push_back(base[static_cast<std::size_t>(axis)]);
  const Array whole = random_array(random, dtype, permuted);
  Layout layout(shape, shape);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto axis = static_cast<std::size_t>(order[i]);
    layout.strides[axis] = whole.layout.strides[i] * steps[axis];
    if (steps[axis] < 0) offset -= (shape[axis] - 1) * layout.strides[axis];
  }
  return with_layout(whole, layout, offset);
}

/// An uninitialized array of any layout: axes in any order, gaps, reversed axes, misaligned
/// elements.
inline Array strided_array(Random& random, const DType& dtype, const List& shape) {
  Layout layout(shape, shape);
  std::int64_t count = 1, offset = 0;
  for (const std::int64_t each : random.permutation(shape.size())) {
    const auto axis = static_cast<std::size_t>(each);
    layout.strides[axis] = count * random.between(1, 3);
    count = layout.strides[axis] * std::max<std::int64_t>(shape[axis], 1);
    if (random.between(0, 2) > 0 || shape[axis] == 0) continue;
    offset += (shape[axis] - 1) * layout.strides[axis];
    layout.strides[axis] *= -1;
  }
  const std::int64_t shift = random.between(0, 1) == 0 ? 0 : random.between(1, 15);
  Array out = new_array({Kind::kUInt, 8}, List{count * dtype.itemsize() + shift}, true);
  out.data += shift + offset * dtype.itemsize();
  out.dtype = dtype;
  out.layout = layout;
  return out;
}

/// Stops the work at a call.
struct Stopper {
  int calls_left;
  int calls = 0;

  core::InterruptCheck check() {
    return {[](void* self) noexcept {
              auto& stopper = *static_cast<Stopper*>(self);
              ++stopper.calls;
              return --stopper.calls_left < 0;
            },
            this};
  }
};

}  // namespace refarray::check
