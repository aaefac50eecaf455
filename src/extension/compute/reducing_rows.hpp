// The rows of reductions and scans, made from those in compute/ops/reduction_rows.hpp.
#pragma once

#include <string_view>

#include "compute/ops/reduction_rows.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {

namespace detail {

using core::Reduction;

constexpr bool is_scan(Reduction operation) noexcept {
  return operation == Reduction::kCumulativeSum || operation == Reduction::kCumulativeProd;
}
constexpr bool takes_dtype(Reduction operation) noexcept {
  return operation == Reduction::kSum || operation == Reduction::kProd || is_scan(operation);
}
constexpr bool takes_correction(Reduction operation) noexcept {
  return operation == Reduction::kVar || operation == Reduction::kStd;
}
constexpr bool takes_one_axis(Reduction operation) noexcept {
  return operation == Reduction::kArgmax || operation == Reduction::kArgmin;
}

constexpr const char* parameters(Reduction operation) noexcept {
  if (is_scan(operation)) return "x, /, *, axis=None, dtype=None, include_initial=False";
  if (takes_dtype(operation)) return "x, /, *, axis=None, dtype=None, keepdims=False";
  if (takes_correction(operation)) return "x, /, *, axis=None, correction=0.0, keepdims=False";
  return "x, /, *, axis=None, keepdims=False";
}

constexpr std::string_view axis_text(Reduction operation) noexcept {
  if (is_scan(operation)) {
    return "axis: the axis; required unless x.ndim is 1.\n"
           "include_initial: True puts the result of no elements, 0 or 1, before the others.\n";
  }
  if (takes_one_axis(operation)) {
    return "axis: the axis, or None for the index in row-major order of all elements.\n"
           "keepdims: True keeps the reduced axes, with extent 1.\n";
  }
  return "axis: an axis, a tuple of axes, or None for all axes.\n"
         "keepdims: True keeps the reduced axes, with extent 1.\n";
}

constexpr std::string_view result_text(Reduction operation) noexcept {
  switch (core::row_of(operation).result) {
    case core::ReducedDtype::kSameDtype:
      return "the same dtype";
    case core::ReducedDtype::kBoolDtype:
      return "bool";
    case core::ReducedDtype::kIndexDtype:
      return "int64";
    case core::ReducedDtype::kWidenedDtype:
      break;
  }
  return "dtype";
}

constexpr Category category(Reduction operation) noexcept {
  switch (operation) {
    case Reduction::kAll:
    case Reduction::kAny:
      return Category::kUtility;
    case Reduction::kArgmax:
    case Reduction::kArgmin:
    case Reduction::kCountNonzero:
      return Category::kSearching;
    default:
      return Category::kStatistical;
  }
}

/// What else there is to say about the values.
constexpr std::string_view notes(Reduction operation) noexcept {
  if (is_scan(operation))
    return "Elements are combined one after the other; float16 and bfloat16 in float32.\n\n";
  switch (operation) {
    case Reduction::kMean:
    case Reduction::kProd:
    case Reduction::kSum:
      return "Elements are combined in a fixed pairwise order, so the result depends on shape and\n"
             "values only; float16 and bfloat16 in float32.\n\n";
    case Reduction::kStd:
    case Reduction::kVar:
      return "Computed in float64 in two passes, and rounded once. NaN where N - correction is 0\n"
             "or less.\n\n";
    default:
      return "";
  }
}

/// Calls `add` for each part of the row's text.
template <class Add>
constexpr void each_part(Reduction operation, Add add) {
  const core::ReductionRow& row = core::row_of(operation);
  add(row.text);
  add("\n\nx: an array of ");
  add(core::name(row.accepts));
  add(" dtype.\n");
  add(axis_text(operation));
  if (takes_dtype(operation)) {
    add("dtype: of the result; the elements are converted to it first. None stands for int64 or\n"
        "    uint64 for integers, and otherwise for the dtype of x.\n");
  }
  if (takes_correction(operation))
    add("correction: a number that is subtracted from the number of elements.\n");
  add("\n");
  add(notes(operation));
  add("Returns a new array of ");
  add(result_text(operation));
  add(is_scan(operation) ? ", of the shape of x" : ", of ndim 0 for all axes");
  add(". Raises TypeError for other dtypes,\nIndexError for an axis out of range");
  if (is_scan(operation))
    add(", ValueError for a missing axis and for ndim 0");
  else if (!takes_one_axis(operation))
    add(", ValueError for a repeated one");
  if (!row.has_identity) add(" and\nValueError if there are no elements to reduce");
  add(".");
}

}  // namespace detail

template <core::Reduction Operation>
inline constexpr FunctionRow kReduction{
    core::row_of(Operation).name, detail::parameters(Operation), detail::category(Operation),
    core::row_of(Operation).since,
    kJoined<[](auto add) { detail::each_part(Operation, add); }>.data()};

}  // namespace refarray::extension
