// Owns the passage of single numbers between memory and Python: what is read, and what may be
// written where.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

#include "core/array.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

/// The kinds of Python number, each able to stand for those before it.
enum class NumberKind : std::uint8_t { kBool, kInt, kFloat, kComplex };
NumberKind number_kind(PyObject* number) noexcept;
/// The array API's default dtype of that kind: bool, int64, float64, complex128.
core::DType default_dtype(NumberKind kind) noexcept;

/// A bool, int, float or complex, itself no subclass, for such an object or a subclass's; else an
/// empty Ref. Runs no foreign code.
Ref plain_number(PyObject* object);
/// The same for whatever stands for one number: an array or a buffer of rank 0, then __index__,
/// __float__, __complex__ in this order. Runs foreign code, and throws what that raises; an empty
/// Ref when the object is no number (a str).
Ref to_number(State& state, PyObject* object);

/// Throws kBuffer when the CPU cannot read the array's memory; `what` is to be done with it
/// ("tolist()"). Of memory that devices use too, waits for what they do with it: for all of it
/// where the CPU `writes`.
void require_host(const core::ArrayView& array, const char* what, bool writes = true);
/// The elements where the CPU can read them: of memory on a device a copy, made behind all
/// unfinished work on it and kept by `keeper`; else the array itself, when what writes to it is
/// done. Throws kBuffer, naming `what`, when a graph capture forbids that, kMemory, DriverError.
core::ArrayView to_readable(const core::ArrayView& array, const char* what, core::Array& keeper);

/// body(0), ..., body(count - 1). A loop over elements may be long: signal handlers run at its
/// beginning and every kPatience elements, and what one raises (KeyboardInterrupt) ends it.
template <class Body>
void for_each_index(std::int64_t count, Body body) {
  constexpr std::int64_t kPatience = std::int64_t{1} << 16;
  for (std::int64_t i = 0; i < count;) {
    check(calling<PyErr_CheckSignals>());
    const std::int64_t end = count - i > kPatience ? i + kPatience : count;
    for (; i < end; ++i) body(i);
  }
}

/// The element `bit` bits after the byte `data`: a bool, int, float or complex; a tuple of them
/// when lanes > 1.
Ref read_element(const core::DType& dtype, const std::byte* data, std::int64_t bit);
/// One scalar of an element (the element itself when lanes is 1), `bit` bits after the byte `data`.
Ref read_scalar(const core::DType& dtype, const std::byte* data, std::int64_t bit);
/// Writes one scalar there. `number` comes from plain_number or to_number. Throws TypeError when
/// its kind is above the dtype's (a complex into a real, a float into an integer, an int into
/// bool), and OverflowError for an int that the dtype cannot hold, integer or float. A float that
/// is too large becomes what core::copy makes of it.
void write_scalar(const core::DType& dtype, std::byte* data, std::int64_t bit, PyObject* number);

}  // namespace refarray::extension
