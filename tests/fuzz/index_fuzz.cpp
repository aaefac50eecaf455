// Fuzz target of the index engine, sorting and sets: compares them with plain loops.
#include <cmath>
#include <complex>
#include <vector>

#include "compute/indexing/index_arrays.hpp"
#include "compute/indexing/mask.hpp"
#include "compute/sorting/sort.hpp"
#include "core/error.hpp"
#include "input.hpp"
#include "placement.hpp"

namespace refarray::fuzz {
namespace {

using core::Array;
using core::ArrayView;
using core::DType;
using core::Kind;
using core::scalar_dtype;
using core::ScalarType;

constexpr std::int64_t kLimit = 800;  // elements

std::int64_t integer_at(const ArrayView& element) {
  return number_at<std::int64_t>(element, scalar_dtype(ScalarType::kInt64));
}

bool same_element(const ArrayView& a, const ArrayView& b) {
  if (a.dtype.kind == Kind::kBool) return (*a.data == std::byte{0}) == (*b.data == std::byte{0});
  return std::memcmp(a.data, b.data, static_cast<std::size_t>(a.dtype.itemsize())) == 0;
}

ArrayView element_of(const Array& flat, std::size_t index) {
  return check::view_at(flat.data + static_cast<std::int64_t>(index) * flat.dtype.itemsize(),
                        flat.dtype);
}

/// Writes indices of an axis into an operand; sometimes one is out of range.
bool fill_indices(Input& input, Operand& operand, std::int64_t extent) {
  bool valid = true;
  const bool is_signed = operand.place.dtype.kind == Kind::kInt;
  for (const std::int64_t address : operand.place.addresses()) {
    const std::int64_t spread = input.one_in(40) ? extent + 3 : extent;
    std::int64_t index = spread == 0 ? 0 : input.byte() % spread;
    if (is_signed && input.one_in(3)) index -= spread;
    put(operand.at(address), index, scalar_dtype(ScalarType::kInt64));
  }
  for (const std::int64_t address : operand.place.addresses()) {
    const std::int64_t index = integer_at(operand.at(address));
    valid &= index < extent && index >= -extent;
  }
  return valid;
}

/// Calls visit(k, at) with the k-th index of an axis, counted from its start.
template <class Visit>
void each_index(Operand& indices, std::int64_t extent, Visit visit) {
  std::int64_t k = 0;
  for (const std::int64_t address : indices.place.addresses()) {
    const std::int64_t at = integer_at(indices.at(address));
    visit(k++, at < 0 ? at + extent : at);
  }
}

/// Takes along one axis.
void run_gather(Input& input) {
  List shape = shape_from(input, kLimit, 2);
  if (shape.empty()) return;
  const auto axis = static_cast<std::size_t>(input.below(static_cast<int>(shape.size())));
  const DType dtype = scalar_dtype(any_type(input));
  Operand array(input, dtype, shape, 1);
  const DType index_dtype = scalar_dtype(static_cast<ScalarType>(1 + input.below(8)));
  Operand indices(input, index_dtype, {input.below(20)}, 2);
  const bool valid = fill_indices(input, indices, shape[axis]);
  const Placement base = axes_without(array.place, axis);
  const core::AxisIndex index{indices.view(), static_cast<int>(axis), shape[axis],
                              array.place.strides[axis]};
  Array offsets;
  try {
    require(core::index_offsets(offsets, {&index, 1}, indices.place.shape, dtype.itemsize(), {}),
            "not interrupted");
  } catch (const core::Error& error) {
    require(error.fault() == core::Fault::kIndex, error.what());
    return require(!valid, "a valid index was refused");
  }
  require(valid, "an index out of range was accepted");
  List taken_shape = shape;
  taken_shape[axis] = indices.place.shape[0];
  const Placement out = placement_from(input, dtype, taken_shape, false);
  Bytes seen = content_from(input, out.nbytes, 3), expected = seen;
  const List from = base.addresses(), to = axes_without(out, axis).addresses();
  each_index(indices, shape[axis], [&](std::int64_t k, std::int64_t at) {
    for (std::size_t i = 0; i < from.size(); ++i)
      core::copy(out.at(expected, to[i] + k * out.strides[axis]),
                 array.at(from[i] + at * array.place.strides[axis]));
  });
  const core::Places places{base.in(array.memory), offsets, static_cast<int>(axis)};
  require(core::gather(out.in(seen), places, {}), "not interrupted");
  require(seen == expected,
          [&] { return "gather from " + check::show(shape, array.place.strides); });
}

/// Scatters to places of an array whose elements share no memory: the last of equal ones stays.
void run_scatter(Input& input) {
  const List shape = shape_from(input, kLimit, 2);
  if (shape.empty()) return;
  const auto axis = static_cast<std::size_t>(input.below(static_cast<int>(shape.size())));
  const DType dtype = scalar_dtype(any_type(input));
  const Placement array = placement_from(input, dtype, shape, false);
  Bytes seen = content_from(input, array.nbytes, 1), expected = seen;
  Operand indices(input, scalar_dtype(ScalarType::kInt64), {input.below(20)}, 2);
  if (!fill_indices(input, indices, shape[axis])) return;
  List given = shape;
  given[axis] = indices.place.shape[0];
  Operand values(input, dtype, given, 4);
  const core::AxisIndex index{indices.view(), static_cast<int>(axis), shape[axis],
                              array.strides[axis]};
  Array offsets;
  core::index_offsets(offsets, {&index, 1}, indices.place.shape, dtype.itemsize(), {});
  const Placement base = axes_without(array, axis);
  const List to = base.addresses(), from = axes_without(values.place, axis).addresses();
  each_index(indices, shape[axis], [&](std::int64_t k, std::int64_t at) {
    for (std::size_t i = 0; i < to.size(); ++i)
      core::copy(array.at(expected, to[i] + at * array.strides[axis]),
                 values.at(from[i] + k * values.place.strides[axis]));
  });
  const core::Places places{base.in(seen), offsets, static_cast<int>(axis)};
  require(core::scatter(places, values.view(), {}), "not interrupted");
  require(seen == expected, [&] { return "scatter to " + check::show(shape, array.strides); });
}

void run_mask(Input& input) {
  const List shape = shape_from(input, kLimit, 2);
  Operand array(input, scalar_dtype(any_type(input)), shape, 1);
  Operand mask(input, scalar_dtype(ScalarType::kBool), shape, 2);
  if (input.one_in(2))
    for (std::byte& byte : mask.memory) byte &= std::byte{1};
  const List from = array.place.addresses(), tested = mask.place.addresses();
  List selected;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (*mask.at(tested[i]).data != std::byte{0}) selected.push_back(from[i]);
  const auto count = static_cast<std::int64_t>(selected.size());
  Array offsets;
  require(core::mask_offsets(offsets, mask.view(), array.place.strides,
                             array.place.dtype.itemsize(), {}),
          "not interrupted");
  require(offsets.view().size() == count, "the number of selected elements");
  for (std::size_t i = 0; i < selected.size(); ++i)
    require(integer_at(element_of(offsets, i)) == selected[i] * array.place.dtype.itemsize(),
            "the offset of a selected element");
  if (!core::can_select(array.view(), mask.view())) return;
  Array out;
  require(core::select(out, array.view(), mask.view(), {}), "not interrupted");
  require(out.view().size() == count, "the number of selected elements");
  for (std::size_t i = 0; i < selected.size(); ++i)
    require(same_element(element_of(out, i), array.at(selected[i])), "a selected element");
}

void run_nonzero(Input& input) {
  const List shape = shape_from(input, kLimit, 2);
  if (shape.empty()) return;
  Operand array(input, scalar_dtype(any_type(input)), shape, 1);
  std::vector<List> expected(shape.size());
  const List addresses = array.place.addresses();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto number = number_at<std::complex<double>>(array.at(addresses[i]),
                                                        scalar_dtype(ScalarType::kComplex128));
    if (number == 0.0) continue;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
      expected[axis].push_back(rest % shape[axis]);
  }
  std::vector<Array> out;
  require(core::nonzero(out, array.view(), {}), "not interrupted");
  require(out.size() == shape.size(), "one array for each axis");
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    require(out[axis].view().size() == static_cast<std::int64_t>(expected[axis].size()),
            "the number of elements that are not zero");
    for (std::size_t i = 0; i < expected[axis].size(); ++i)
      require(integer_at(element_of(out[axis], i)) == expected[axis][i], "an index of nonzero()");
  }
}

/// A number that orders as the element does; NaN is the greatest.
struct Key {
  bool is_nan = false;
  __int128 integer = 0;  // exact for integers
  double real = 0;

  bool operator<(const Key& other) const {
    if (is_nan || other.is_nan) return !is_nan && other.is_nan;
    return integer != other.integer ? integer < other.integer : real < other.real;
  }
};

Key key_of(const ArrayView& element) {
  const DType& dtype = element.dtype;
  if (dtype.kind == Kind::kInt) return {false, integer_at(element), 0};
  if (dtype.kind == Kind::kUInt || dtype.kind == Kind::kBool)
    return {false, number_at<std::uint64_t>(element, scalar_dtype(ScalarType::kUInt64)), 0};
  const auto real = number_at<double>(element, scalar_dtype(ScalarType::kFloat64));
  return {std::isnan(real), 0, std::isnan(real) ? 0 : real};
}

DType sortable_dtype(Input& input) {
  const DType dtype = scalar_dtype(any_type(input));
  return dtype.is_complex() ? scalar_dtype(ScalarType::kFloat32) : dtype;
}

void run_sort(Input& input) {
  const List shape = shape_from(input, kLimit, 2);
  if (shape.empty()) return;
  const auto axis = static_cast<std::size_t>(input.below(static_cast<int>(shape.size())));
  Operand array(input, sortable_dtype(input), shape, 1);
  const bool descends = input.one_in(2);
  const Array sorted = core::new_array(array.place.dtype, shape, false);
  const Array order = core::new_array(scalar_dtype(ScalarType::kInt64), shape, false);
  require(core::sort(sorted, array.view(), static_cast<int>(axis), descends, {}),
          "not interrupted");
  require(core::sort_order(order, array.view(), static_cast<int>(axis), descends, {}),
          "not interrupted");
  const List rows = axes_without(array.place, axis).addresses();
  const Placement out{
      sorted.dtype, shape, {sorted.layout.strides, sorted.layout.strides + shape.size()}, 0, 0};
  const List results = axes_without(out, axis).addresses();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::vector<std::int64_t> expected(static_cast<std::size_t>(shape[axis]));
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<std::int64_t>(i);
    const auto element = [&](std::int64_t i) {
      return array.at(rows[row] + i * array.place.strides[axis]);
    };
    std::ranges::stable_sort(expected, [&](std::int64_t a, std::int64_t b) {
      const Key x = key_of(element(a)), y = key_of(element(b));
      return descends ? y < x : x < y;
    });
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto at =
          static_cast<std::size_t>(results[row] + static_cast<std::int64_t>(i) * out.strides[axis]);
      require(integer_at(element_of(order, at)) == expected[i], [&] {
        return "argsort of " + core::name(array.place.dtype) + ", place " + std::to_string(i);
      });
      require(same_element(element_of(sorted, at), element(expected[i])), [&] {
        return "sort of " + core::name(array.place.dtype) + ", place " + std::to_string(i);
      });
    }
  }
}

void run_search(Input& input) {
  const DType dtype = sortable_dtype(input);
  Operand given(input, dtype, {input.below(60)}, 1);
  const Array sorted = core::new_array(dtype, given.place.shape, false);
  core::sort(sorted, given.view(), 0, false, {});
  const List shape = shape_from(input, 200);
  Operand values(input, dtype, shape, input.one_in(2) ? 1 : 5);
  const Array out = core::new_array(scalar_dtype(ScalarType::kInt64), shape, false);
  const bool after = input.one_in(2);
  require(core::search_sorted(out, sorted, values.view(), after, {}), "not interrupted");
  const List addresses = values.place.addresses();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Key value = key_of(values.at(addresses[i]));
    std::int64_t expected = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(given.place.shape[0]); ++k) {
      const Key key = key_of(element_of(sorted, k));
      expected += (after ? !(value < key) : key < value) ? 1 : 0;
    }
    require(integer_at(element_of(out, i)) == expected,
            [&] { return "searchsorted of " + core::name(dtype); });
  }
}

using Number = std::complex<double>;

bool equal(const ArrayView& a, const ArrayView& b) {
  if (a.dtype.kind == Kind::kInt || a.dtype.kind == Kind::kUInt) return same_element(a, b);
  return number_at<Number>(a, scalar_dtype(ScalarType::kComplex128)) ==
         number_at<Number>(b, scalar_dtype(ScalarType::kComplex128));
}

void run_sets(Input& input) {
  const List shape = shape_from(input, 200);
  Operand array(input, scalar_dtype(any_type(input)), shape, 1);
  if (input.one_in(2))
    for (std::byte& byte : array.memory) byte &= std::byte{3};
  const List addresses = array.place.addresses();
  core::Distinct found;
  require(core::distinct_all(found, array.view(), {}), "not interrupted");
  const auto count = static_cast<std::size_t>(found.values.view().size());
  std::vector<std::int64_t> counts(count);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto at = static_cast<std::size_t>(integer_at(element_of(found.inverse, i)));
    require(at < count, "an inverse index is out of range");
    const ArrayView value = element_of(found.values, at), element = array.at(addresses[i]);
    require(equal(value, element) || same_element(value, element),
            "values[inverse] is not the array");
    if (counts[at]++ == 0)
      require(integer_at(element_of(found.indices, at)) == static_cast<std::int64_t>(i),
              "the index of a first occurrence");
  }
  for (std::size_t i = 0; i < count; ++i) {
    require(integer_at(element_of(found.counts, i)) == counts[i], "a count");
    for (std::size_t k = 0; k < i; ++k)
      require(!equal(element_of(found.values, i), element_of(found.values, k)), "equal values");
  }
  Operand elements(input, array.place.dtype, {input.below(20)}, 1);
  const Array out = core::new_array(scalar_dtype(ScalarType::kBool), shape, false);
  const bool inverts = input.one_in(2);
  require(core::is_in(out, array.view(), elements.view(), inverts, {}), "not interrupted");
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    bool expected = false;
    for (const std::int64_t address : elements.place.addresses())
      expected |= equal(array.at(addresses[i]), elements.at(address));
    require((out.data[i] != std::byte{0}) == (expected != inverts), "isin");
  }
}

}  // namespace

void run(Input& input) {
  static constexpr void (*kTargets[])(Input&) = {&run_gather, &run_scatter, &run_mask, &run_nonzero,
                                                 &run_sort,   &run_search,  &run_sets};
  kTargets[input.below(7)](input);
}

}  // namespace refarray::fuzz
