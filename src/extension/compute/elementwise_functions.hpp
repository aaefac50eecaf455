// Elementwise functions and operators on arrays and Python numbers.
#pragma once

#include "compute/ops/elementwise_rows.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// The result of a function of one or two arguments. With `for_operator`, operands that are neither
/// an Array nor a number, and export no memory, give NotImplemented instead of a TypeError.
Ref compute_unary(const State& state, core::Elementwise operation, PyObject* x);
Ref compute_binary(const State& state, core::Elementwise operation, PyObject* x1, PyObject* x2,
                   bool for_operator = false);

/// x1 op= x2, in the memory of x1, an array. NotImplemented as compute_binary().
/// Throws kType if the result has another dtype, kValue if it has another shape or x1 is read-only.
Ref compute_in_place(const State& state, core::Elementwise operation, PyObject* x1, PyObject* x2);

/// value in x: whether an element of x == value is True.
int array_contains(PyObject* x, PyObject* value);

/// Throws kValue if an element of `min` is above that of `max`, limits that clip() takes.
void require_ordered_limits(const State& state, PyObject* min, PyObject* max);

}  // namespace refarray::extension
