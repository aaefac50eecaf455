// Checked arithmetic of shapes and strides. Allocates memory only for error messages.
#include "core/layout.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

#include "core/error.hpp"

namespace refarray::core {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

[[noreturn, gnu::cold, gnu::noinline]] void fail_negative_extent(Extents shape) {
  const auto first = std::find_if(shape.begin(), shape.end(), [](std::int64_t e) { return e < 0; });
  fail(Fault::kValue, "the extent of axis ", first - shape.begin(), " is ", *first,
       "; the minimum is 0");
}

void check_rank(std::size_t rank) {
  if (rank > std::size_t{kMaxRank}) fail_rank(static_cast<std::int64_t>(rank));
}

/// Whether the elements are contiguous. `axis(i)` is the axis with the i-th smallest stride.
template <class Axis>
bool is_dense(Extents shape, Extents strides, Axis axis) noexcept {
  bool dense = true;
  std::int64_t expected = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t at = axis(i);
    if (shape[at] == 0)
      return true;  // hence no early exit on a mismatch: an extent of 0 may follow
    if (shape[at] == 1) continue;
    dense &= strides[at] == expected;
    expected = wrapped_product(expected, shape[at]);
  }
  return dense;
}

}  // namespace

void fail_rank(std::int64_t ndim) {
  fail(Fault::kValue, "ndim is ", ndim, "; the limit is ", kMaxRank);
}

Layout::Layout(Extents the_shape, Extents the_strides) {
  assert(the_shape.size() == the_strides.size());
  check_rank(the_shape.size());
  ndim = static_cast<int>(the_shape.size());
  std::copy_n(the_shape.begin(), ndim, shape);
  std::copy_n(the_strides.begin(), ndim, strides);
}

Layout& Layout::operator=(const Layout& other) noexcept {
  if (this == &other) return *this;
  ndim = other.ndim;
  std::copy_n(other.shape, ndim, shape);
  std::copy_n(other.strides, ndim, strides);
  return *this;
}

std::string shape_text(Extents shape) {
  std::string out = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(shape[i]);
  }
  return out + (shape.size() == 1 ? ",)" : ")");
}

std::int64_t checked_size(Extents shape) {
  std::int64_t product = 1;
  std::int64_t all_bits = 0;  // negative if any extent is
  bool overflow = false;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    all_bits |= extent;
    empty |= extent == 0;
    overflow |= __builtin_mul_overflow(product, extent == 0 ? 1 : extent, &product);
  }
  if (all_bits < 0) fail_negative_extent(shape);
  if (overflow) {
    fail(Fault::kOverflow, "the elements of shape ", shape_text(shape),
         " are too many; the limit is ", kLargest);
  }
  return empty ? 0 : product;
}

std::int64_t size_of(Extents shape) noexcept {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product = wrapped_product(product, extent);
  return product;
}

std::int64_t checked_nbytes(std::int64_t size, const DType& dtype) {
  std::int64_t bits = 0;
  if (__builtin_mul_overflow(size, std::int64_t{dtype.stored_bits()}, &bits)) {
    fail(Fault::kOverflow, size, " elements of ", name(dtype), " take too many bits; the limit is ",
         kLargest);
  }
  return bits / 8 + (bits % 8 != 0);
}

std::int64_t nbytes_of(std::int64_t size, const DType& dtype) noexcept {
  const std::int64_t bits = wrapped_product(size, dtype.stored_bits());
  return bits / 8 + (bits % 8 != 0);
}

Layout c_layout(Extents shape) {
  check_rank(shape.size());
  checked_size(shape);
  Layout out;
  out.ndim = static_cast<int>(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    out.shape[i] = shape[i];
    out.strides[i] = stride;
    // Cannot overflow: checked_size() has checked the product of the non-zero extents.
    stride *= shape[i] == 0 ? 1 : shape[i];
  }
  return out;
}

std::optional<BitRange> bit_range(Extents shape, Extents strides, const DType& dtype) noexcept {
  std::int64_t lowest = 0;  // in elements
  std::int64_t highest = 0;
  bool overflow = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return BitRange{0, 0};  // even after an overflow
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(shape[i] - 1, strides[i], &reach);
    overflow |= __builtin_add_overflow(lowest, std::min(reach, std::int64_t{0}), &lowest);
    overflow |= __builtin_add_overflow(highest, std::max(reach, std::int64_t{0}), &highest);
  }
  const std::int64_t bits = dtype.stored_bits();
  BitRange out{};
  overflow |= __builtin_mul_overflow(lowest, bits, &out.begin);
  overflow |= __builtin_mul_overflow(highest, bits, &out.end);
  overflow |= __builtin_add_overflow(out.end, bits, &out.end);
  if (overflow) return std::nullopt;
  return out;
}

BitRange checked_bit_range(Extents shape, Extents strides, const DType& dtype) {
  const std::optional<BitRange> range = bit_range(shape, strides, dtype);
  if (!range) [[unlikely]] {
    fail(Fault::kOverflow, "shape ", shape_text(shape), " with strides ", shape_text(strides),
         " of ", name(dtype), " reaches farther than ", kLargest, " bits");
  }
  return *range;
}

bool is_c_contiguous(Extents shape, Extents strides) noexcept {
  return is_dense(shape, strides, [&](std::size_t i) { return shape.size() - 1 - i; });
}

bool is_f_contiguous(Extents shape, Extents strides) noexcept {
  return is_dense(shape, strides, [](std::size_t i) { return i; });
}

Layout reversed_axes(Extents shape, Extents strides) noexcept {
  Layout out;
  for (std::size_t axis = shape.size(); axis-- > 0;) out.push(shape[axis], strides[axis]);
  return out;
}

int normalize_axis(std::int64_t axis, int ndim) {
  if (axis < -ndim || axis >= ndim) {
    fail(Fault::kAxis, "axis ", axis, " is out of range for ndim ", ndim, "; the range is [", -ndim,
         ", ", ndim, ")");
  }
  return static_cast<int>(axis < 0 ? axis + ndim : axis);
}

std::optional<Layout> reshape_layout(Extents shape, Extents strides, Extents to_shape) {
  Layout out = c_layout(to_shape);
  const std::int64_t size = size_of(shape);
  if (size_of(to_shape) != size) {
    fail(Fault::kValue, "cannot reshape ", shape_text(shape), " into ", shape_text(to_shape), ": ",
         size, " elements and ", size_of(to_shape));
  }
  if (size <= 1) return out;
  // Merge adjacent axes that form one run of equal stride. Each axis of `to_shape` must be part of
  // one run.
  Layout runs;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    std::int64_t reach = 0;
    const bool continues = runs.ndim > 0 && !__builtin_mul_overflow(shape[i], strides[i], &reach) &&
                           runs.strides[runs.ndim - 1] == reach;
    if (continues) {
      runs.shape[runs.ndim - 1] *= shape[i];
      runs.strides[runs.ndim - 1] = strides[i];
    } else {
      runs.push(shape[i], strides[i]);
    }
  }
  int run = runs.ndim - 1;
  std::int64_t remaining = runs.shape[run];
  std::int64_t stride = runs.strides[run];
  for (std::size_t i = to_shape.size(); i-- > 0;) {
    if (remaining == 1 && to_shape[i] != 1) {
      remaining = runs.shape[--run];
      stride = runs.strides[run];
    }
    if (remaining % to_shape[i] != 0) return std::nullopt;
    out.strides[i] = stride;
    remaining /= to_shape[i];
    stride = wrapped_product(stride, to_shape[i]);
  }
  return out;
}

Layout broadcast_layout(Extents shape, Extents strides, Extents to_shape) {
  check_rank(to_shape.size());
  checked_size(to_shape);
  bool fits = shape.size() <= to_shape.size();
  const std::size_t added = fits ? to_shape.size() - shape.size() : 0;
  Layout out;
  for (std::size_t i = 0; fits && i < to_shape.size(); ++i) {
    const std::int64_t extent = i < added ? 1 : shape[i - added];
    fits = extent == to_shape[i] || extent == 1;
    out.push(to_shape[i], i < added || extent != to_shape[i] ? 0 : strides[i - added]);
  }
  if (!fits)
    fail(Fault::kValue, "shape ", shape_text(shape), " does not broadcast to ",
         shape_text(to_shape));
  return out;
}

}  // namespace refarray::core
