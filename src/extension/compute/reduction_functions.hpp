// Arguments that reductions and scans have in common.
#pragma once

#include <cstdint>

#include "compute/ops/reduction_rows.hpp"
#include "core/array.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// The axes of the argument as bits; all of them for None. Throws kAxis for an axis out of range,
/// kValue for a repeated one.
std::uint64_t to_axis_bits(const State& state, PyObject* object, int ndim, bool takes_one);

/// sum() of a numeric array along its last axis, with the argument `dtype`. Throws as
/// to_result_dtype().
Ref compute_sum_of_last_axis(const State& state, const core::ArrayView& x, PyObject* dtype);

/// A bool argument, False if absent. `what` names it in error messages. Throws kType for others.
bool to_flag(PyObject* object, const char* function, const char* what);

/// The argument `dtype` of sum, prod and the scans; by default that of the row. Throws as
/// to_dtype(), and kType for dtypes that are not numeric or that `dtype` does not convert to.
core::DType to_result_dtype(const State& state, PyObject* object, core::Reduction operation,
                            const core::DType& dtype);

/// `x`, or a copy converted to `dtype` where a reduction, which converts once, would have to
/// convert twice: first to `dtype`, and then to the one in which it computes. `owner` keeps it.
core::ArrayView converted_for(const core::ArrayView& x, const core::DType& dtype,
                              core::Array& owner);

}  // namespace refarray::extension
