// Sets: sorted elements, and where they differ from the ones before them.
#include <algorithm>

#include "compute/indexing/index_arrays.hpp"
#include "compute/indexing/mask.hpp"
#include "compute/kernels/rearranging/sort_kernels.hpp"
#include "compute/kernels_in_use.hpp"
#include "compute/sorting/sort.hpp"
#include "core/copy/copy.hpp"
#include "core/promotion.hpp"

namespace refarray::core {
namespace {

constexpr DType kInt64{Kind::kInt, 64};
constexpr DType kBool{Kind::kBool, 8};
constexpr std::int64_t kPiece = std::int64_t{1} << 20;  // elements between two interrupt checks

const kernels::Sorting& kernels_in_use() noexcept { return *kernels::operations().sorting; }

std::int64_t* words(const Array& array) noexcept {
  return reinterpret_cast<std::int64_t*>(array.data);
}

Array new_flat(const DType& dtype, std::int64_t size) {
  const std::int64_t shape[] = {size};
  return new_array(dtype, shape, false);
}

/// The elements in row-major order, in memory of our own.
bool flat_copy(Array& out, const ArrayView& array, const InterruptCheck& interrupt) {
  const Array made = new_array(array.dtype, array.extents(), false);
  if (!copy(made, array, interrupt)) return false;
  const std::int64_t shape[] = {array.size()};
  out = with_layout(made, c_layout(shape), 0);
  return true;
}

/// flat[order[i]] for each i.
bool in_order(Array& out, const Array& flat, const Array& order, const InterruptCheck& interrupt) {
  const std::int64_t size = flat.layout.shape[0];
  out = new_flat(flat.dtype, size);
  const AxisIndex index{order, 0, size, flat.layout.strides[0]};
  Array offsets;
  const Array element = with_layout(flat, Layout({}, {}), 0);
  return index_offsets(offsets, {&index, 1}, order.layout.extents(), flat.dtype.itemsize(),
                       interrupt) &&
         gather(out, {element, offsets, 0}, interrupt);
}

/// The order of flat elements. Complex numbers: stably by the real parts of those that are in the
/// order of their imaginary parts.
bool order_of(Array& out, const Array& flat, const InterruptCheck& interrupt) {
  const std::int64_t size = flat.layout.shape[0];
  out = new_flat(kInt64, size);
  if (!flat.dtype.is_complex()) return sort_order(out, flat, 0, false, interrupt);
  const DType real{Kind::kFloat, static_cast<std::uint8_t>(flat.dtype.bits / 2)};
  const Array parts = with_dtype(flat, real);
  Layout every_second;
  every_second.push(size, 2);
  Array by_imaginary = new_flat(kInt64, size);
  Array by_real = new_flat(kInt64, size);
  Array reals;
  return sort_order(by_imaginary, with_layout(parts, every_second, 1), 0, false, interrupt) &&
         in_order(reals, with_layout(parts, every_second, 0), by_imaginary, interrupt) &&
         sort_order(by_real, reals, 0, false, interrupt) &&
         in_order(out, by_imaginary, by_real, interrupt);
}

/// Where sorted elements differ from the ones before them.
bool find_starts(Array& out, const Array& sorted, const InterruptCheck& interrupt) {
  const std::int64_t size = sorted.layout.shape[0];
  out = new_flat(kBool, size);
  for (std::int64_t at = 0; at < size; at += kPiece) {
    // The first element of a call has none before it: that of a later piece begins one earlier.
    const std::int64_t before = at > 0 ? 1 : 0;
    std::byte* const differs = out.data + (at - before);
    const std::byte kept = *differs;
    kernels_in_use().differences(computable_scalar(sorted.dtype),
                                 sorted.data + (at - before) * sorted.dtype.itemsize(),
                                 std::min(kPiece, size - at) + before, differs);
    if (before > 0) *differs = kept;
    if (size > kPiece && interrupt()) return false;
  }
  return true;
}

/// The elements in order, and where they differ from the ones before them.
bool sort_all(Array& sorted, Array& starts, const ArrayView& array,
              const InterruptCheck& interrupt) {
  Array flat, order;
  if (!flat_copy(flat, array, interrupt)) return false;
  if (array.dtype.is_complex()) {
    if (!order_of(order, flat, interrupt) || !in_order(sorted, flat, order, interrupt))
      return false;
  } else {
    sorted = flat;  // in place
    if (!sort(sorted, flat, 0, false, interrupt)) return false;
  }
  return find_starts(starts, sorted, interrupt);
}

/// The values at the starts, and the distances between these.
bool values_and_counts(Distinct& out, const Array& sorted, const Array& starts,
                       const InterruptCheck& interrupt) {
  const std::int64_t stride[] = {1};
  if (!select(out.values, sorted, starts, interrupt) ||
      !mask_offsets(out.counts, starts, stride, 1, interrupt))
    return false;
  std::int64_t* const at = words(out.counts);
  const std::int64_t count = out.counts.layout.shape[0];
  for (std::int64_t i = 0; i + 1 < count; ++i) at[i] = at[i + 1] - at[i];
  if (count > 0) at[count - 1] = sorted.layout.shape[0] - at[count - 1];
  return true;
}

/// The number of the value of each element.
bool find_inverse(Array& out, const Array& order, const Array& starts, Extents shape,
                  const InterruptCheck& interrupt) {
  out = new_array(kInt64, shape, false);
  const std::int64_t size = order.layout.shape[0];
  std::int64_t value = -1;
  for (std::int64_t i = 0; i < size; ++i) {
    value += starts.data[i] != std::byte{0};
    words(out)[words(order)[i]] = value;
    if (i % kPiece == kPiece - 1 && interrupt()) return false;
  }
  return true;
}

/// is_in() for complex numbers: the values that elements of both arrays have.
bool is_in_by_values(const ArrayView& out, const ArrayView& values, const ArrayView& elements,
                     const InterruptCheck& interrupt) {
  const std::int64_t size = values.size();
  const Array both = new_flat(values.dtype, size + elements.size());
  const Array first = with_layout(both, c_layout(values.extents()), 0);
  const Array second = with_layout(both, c_layout(elements.extents()), size);
  Distinct found;
  if (!copy(first, values, interrupt) || !copy(second, elements, interrupt) ||
      !distinct_all(found, both, interrupt))
    return false;
  const std::int64_t shape[] = {found.values.layout.shape[0]};
  const Array is_element = new_array(kBool, shape, true);
  const std::int64_t* const value_of = words(found.inverse);
  for (std::int64_t i = size; i < both.layout.shape[0]; ++i)
    is_element.data[value_of[i]] = std::byte{1};
  for (std::int64_t i = 0; i < size; ++i) out.data[i] = is_element.data[value_of[i]];
  return true;
}

/// Contiguous elements of one dtype in row-major order.
struct Flat {
  ScalarType dtype;
  const std::byte* data;
  std::int64_t size;
};

/// Calls f(elements of a piece, index of its first one) until interrupted.
template <class F>
bool each_piece(const Flat& of, const InterruptCheck& interrupt, F f) {
  const std::int64_t itemsize = scalar_dtype(of.dtype).itemsize();
  for (std::int64_t at = 0; at < of.size; at += kPiece) {
    f(Flat{of.dtype, of.data + at * itemsize, std::min(kPiece, of.size - at)}, at);
    if (of.size > kPiece && interrupt()) return false;
  }
  return true;
}

bool is_in_sorted(const ArrayView& out, const Flat& values, const Array& elements,
                  const InterruptCheck& interrupt) {
  const std::int64_t count = elements.layout.shape[0];
  const Array sorted = new_flat(elements.dtype, count);
  return sort(sorted, elements, 0, false, interrupt) &&
         each_piece(values, interrupt, [&](const Flat& piece, std::int64_t at) {
           kernels_in_use().contains(
               piece.dtype, {sorted.data, count, piece.data, piece.size, false}, out.data + at);
         });
}

/// Marks the keys of `elements` in a table.
bool is_in_table(const ArrayView& out, const Flat& values, const Flat& elements,
                 const kernels::KeyRange& range, const InterruptCheck& interrupt) {
  const std::int64_t shape[] = {static_cast<std::int64_t>(range.high - range.low) + 2};
  const Array table = new_array(kBool, shape, /*zeroed=*/true);
  const auto mark = [&](const Flat& piece, std::int64_t) {
    kernels_in_use().mark(piece.dtype, piece.data, piece.size, range, table.data);
  };
  if (!each_piece(elements, interrupt, mark)) return false;
  return each_piece(values, interrupt, [&](const Flat& piece, std::int64_t at) {
    kernels_in_use().find_marked(piece.dtype, piece.data, piece.size, range, table.data,
                                 out.data + at);
  });
}

/// is_in() for what is not complex.
bool is_in_real(const ArrayView& out, const ArrayView& values, const ArrayView& elements,
                const InterruptCheck& interrupt) {
  // A table that has at most so many bytes for each element takes less time than sorting them.
  constexpr std::uint64_t kMostBytes = 8;
  Array wanted, among;
  if (!flat_copy(wanted, values, interrupt) || !flat_copy(among, elements, interrupt)) return false;
  const ScalarType dtype = computable_scalar(values.dtype);
  const Flat left{dtype, wanted.data, wanted.layout.shape[0]};
  const Flat right{dtype, among.data, among.layout.shape[0]};
  kernels::KeyRange range;
  const auto widen = [&](const Flat& piece, std::int64_t) {
    kernels_in_use().widen_range(piece.dtype, piece.data, piece.size, range);
  };
  if (!each_piece(right, interrupt, widen)) return false;
  const auto size = static_cast<std::uint64_t>(left.size + right.size);
  return right.size > 0 && range.high - range.low < kMostBytes * size
             ? is_in_table(out, left, right, range, interrupt)
             : is_in_sorted(out, left, among, interrupt);
}

}  // namespace

bool distinct_values(Distinct& out, const ArrayView& array, const InterruptCheck& interrupt) {
  Array sorted, starts;
  return sort_all(sorted, starts, array, interrupt) &&
         select(out.values, sorted, starts, interrupt);
}

bool distinct_counts(Distinct& out, const ArrayView& array, const InterruptCheck& interrupt) {
  Array sorted, starts;
  return sort_all(sorted, starts, array, interrupt) &&
         values_and_counts(out, sorted, starts, interrupt);
}

bool distinct_all(Distinct& out, const ArrayView& array, const InterruptCheck& interrupt) {
  Array flat, order, sorted, starts;
  return flat_copy(flat, array, interrupt) && order_of(order, flat, interrupt) &&
         in_order(sorted, flat, order, interrupt) && find_starts(starts, sorted, interrupt) &&
         values_and_counts(out, sorted, starts, interrupt) &&
         select(out.indices, order, starts, interrupt) &&
         find_inverse(out.inverse, order, starts, array.extents(), interrupt);
}

bool is_in(const ArrayView& out, const ArrayView& values, const ArrayView& elements, bool inverts,
           const InterruptCheck& interrupt) {
  const bool is_done = values.dtype.is_complex() ? is_in_by_values(out, values, elements, interrupt)
                                                 : is_in_real(out, values, elements, interrupt);
  if (!is_done || !inverts) return is_done;
  const std::int64_t size = out.size();
  for (std::int64_t i = 0; i < size; ++i) out.data[i] ^= std::byte{1};
  return true;
}

}  // namespace refarray::core
