// The values that a strict namespace computes with.
#pragma once

#include <Python.h>

#include "compute/ops/elementwise_operation.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// Throws kValue if the standard defines no result for integers x1 and the values of x2: powers
/// with negative exponents, shifts by negative numbers. What has no result for other reasons is
/// left to the function.
void require_defined_result(const State& state, core::Elementwise operation, PyObject* x1,
                            PyObject* x2);

/// Throws kValue if an element of `min` is above that of `max`, limits that clip() takes.
void require_ordered_limits(const State& state, PyObject* min, PyObject* max);

}  // namespace refarray::extension
