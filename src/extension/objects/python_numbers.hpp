// Python numbers: conversion of single elements between memory and them, loops over elements, and
// the dtypes that they and arrays promote to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/array.hpp"
#include "core/promotion.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// The kinds of Python number, in the order of promotion.
enum class NumberKind : std::uint8_t { kBool, kInt, kFloat, kComplex };
NumberKind number_kind(PyObject* number) noexcept;
/// The array API's default dtype for the kind: bool, int64, float64, complex128.
core::DType default_dtype(NumberKind kind) noexcept;

/// A bool, int, float or complex object as exactly that type, converting subclasses; otherwise an
/// empty Ref. Runs no user code.
Ref plain_number(PyObject* object);

/// Calls body(0), ..., body(count - 1). Runs pending signal handlers before the loop and every
/// kSignalInterval elements; an exception from one (KeyboardInterrupt) ends the loop.
template <class Body>
void for_each_index(std::int64_t count, Body body) {
  constexpr std::int64_t kSignalInterval = std::int64_t{1} << 16;
  for (std::int64_t i = 0; i < count;) {
    check(calling<PyErr_CheckSignals>());
    const std::int64_t end = count - i > kSignalInterval ? i + kSignalInterval : count;
    for (; i < end; ++i) body(i);
  }
}
/// The bool or int of equal value, if the dtype is of one of these kinds and there is one: for 1.0,
/// 1 or True. Otherwise the number itself. `number` is of one of Python's four types.
Ref in_kind_of(const core::DType& dtype, PyObject* number);

// An address is a byte and a bit offset from it; only packed sub-byte elements have offsets that
// are not multiples of 8.

/// An element as a bool, int, float or complex; for lanes > 1 as a tuple of them.
Ref read_element(const core::DType& dtype, const std::byte* data, std::int64_t bit);
/// One scalar: an element, or one lane of it.
Ref read_scalar(const core::DType& dtype, const std::byte* data, std::int64_t bit);
/// Writes one scalar. `number` is of one of Python's four types. Throws TypeError if its kind is
/// above that of the dtype (complex into real, float into integer, int into bool), and
/// OverflowError for an int that the dtype cannot represent. A float out of range is converted as
/// by core::copy.
void write_scalar(const core::DType& dtype, std::byte* data, std::int64_t bit, PyObject* number);

// --- Promotion.

// In the functions below `function` names the Python function in error messages.

/// The scalar type of a dtype of `accepts`. Throws kType for others.
core::ScalarType require_computable(const core::DType& dtype, const char* function,
                                    core::DtypeSet accepts);

/// The type that a Python number takes beside an array of the type `other`: the same, but a
/// complex number beside real floats is complex. Throws kType where the standard leaves the
/// combination undefined.
core::ScalarType type_beside(NumberKind kind, core::ScalarType other, const char* function);

}  // namespace refarray::extension
