// The kinds of arguments that a strict namespace takes.
#pragma once

#include <Python.h>

#include <span>

#include "compute/ops/elementwise_operation.hpp"
#include "extension/module/keywords.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

/// Throws kType for an argument of a kind that the standard's signatures do not have for the
/// parameter: a bool or an array where they have int or float, an integer where they have a
/// sequence, another object than a bool where they have bool. The functions check the rest.
/// `arguments` are those of `keys`, nullptr for one not passed.
void require_standard_arguments(const State& state, const char* function, std::span<const Key> keys,
                                std::span<PyObject* const> arguments);

/// Throws kValue if the standard defines no result for integers x1 and the values of x2: powers
/// with negative exponents, shifts by negative numbers. What has no result for other reasons is
/// left to the function.
void require_defined_result(const State& state, core::Elementwise operation, PyObject* x1,
                            PyObject* x2);

/// Throws kValue if an element of `min` is above that of `max`, limits that clip() takes.
void require_ordered_limits(const State& state, PyObject* min, PyObject* max);

}  // namespace refarray::extension
