// The registry of reductions and scans: one row for each, from which the drivers, the Python
// functions and their documentation take what they have in common.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "compute/ops/elementwise_rows.hpp"
#include "core/promotion.hpp"

namespace refarray::core {

/// In the order of kReductionRows.
enum class Reduction : std::uint8_t {
  kAll,
  kAny,
  kArgmax,
  kArgmin,
  kCountNonzero,
  kCumulativeProd,
  kCumulativeSum,
  kMax,
  kMean,
  kMin,
  kProd,
  kStd,
  kSum,
  kVar,
  kCount
};

/// How the dtype of the result follows from that of the input.
enum class ReducedDtype : std::uint8_t {
  kSameDtype,
  kWidenedDtype,  // int64 for signed, uint64 for unsigned integers, otherwise the same
  kBoolDtype,
  kIndexDtype,  // int64
};

struct ReductionRow {
  Reduction operation;
  const char* name;
  DtypeSet accepts;
  ReducedDtype result;
  bool has_identity;  // of no elements there is a result; for mean, var and std it is NaN
  Since since;
  const char* text;  // what it computes
};

inline constexpr auto kReductionRows = [] {
  using namespace dtype_sets;
  using enum Reduction;
  using enum ReducedDtype;
  return std::to_array<ReductionRow>({
      {kAll, "all", dtype_sets::kAll, kBoolDtype, true, 2021, "Whether all elements are non-zero."},
      {kAny, "any", dtype_sets::kAll, kBoolDtype, true, 2021, "Whether any element is non-zero."},
      {kArgmax, "argmax", kRealValued, kIndexDtype, false, 2021,
       "The index of the first of the greatest elements; of the first NaN, if there is one."},
      {kArgmin, "argmin", kRealValued, kIndexDtype, false, 2021,
       "The index of the first of the least elements; of the first NaN, if there is one."},
      {kCountNonzero, "count_nonzero", dtype_sets::kAll, kIndexDtype, true, 2024,
       "The number of elements that are not zero."},
      {kCumulativeProd, "cumulative_prod", kNumeric, kWidenedDtype, true, 2024,
       "The products of the elements up to each one."},
      {kCumulativeSum, "cumulative_sum", kNumeric, kWidenedDtype, true, 2023,
       "The sums of the elements up to each one."},
      {kMax, "max", kRealValued, kSameDtype, false, 2021,
       "The greatest element; NaN, if there is one."},
      {kMean, "mean", kFloating, kSameDtype, true, 2021, "The arithmetic mean."},
      {kMin, "min", kRealValued, kSameDtype, false, 2021,
       "The least element; NaN, if there is one."},
      {kProd, "prod", kNumeric, kWidenedDtype, true, 2021,
       "The product of the elements; 1 of none. Integers wrap around."},
      {kStd, "std", kRealFloating, kSameDtype, true, 2021,
       "The standard deviation: the square root of var()."},
      {kSum, "sum", kNumeric, kWidenedDtype, true, 2021,
       "The sum of the elements; 0 of none. Integers wrap around."},
      {kVar, "var", kRealFloating, kSameDtype, true, 2021,
       "The variance: the sum of squared deviations from the mean, divided by N - correction."},
  });
}();

static_assert(kReductionRows.size() == static_cast<std::size_t>(Reduction::kCount));
static_assert([] {
  for (std::size_t i = 0; i < kReductionRows.size(); ++i) {
    if (static_cast<std::size_t>(kReductionRows[i].operation) != i) return false;
  }
  return true;
}());

constexpr const ReductionRow& row_of(Reduction operation) noexcept {
  return kReductionRows[static_cast<std::size_t>(operation)];
}

/// The dtype of the result for an input that the row accepts.
constexpr DType reduced_dtype(Reduction operation, const DType& dtype) noexcept {
  const DType int64{Kind::kInt, 64};
  switch (row_of(operation).result) {
    case ReducedDtype::kSameDtype:
      break;
    case ReducedDtype::kWidenedDtype:
      if (dtype.kind == Kind::kInt) return int64;
      if (dtype.kind == Kind::kUInt) return {Kind::kUInt, 64};
      break;
    case ReducedDtype::kBoolDtype:
      return {Kind::kBool, 8};
    case ReducedDtype::kIndexDtype:
      return int64;
  }
  return dtype;
}

}  // namespace refarray::core
