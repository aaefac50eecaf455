// Values for which the standard defines no result: strict namespaces refuse them.
#include "extension/compute/strict_values.hpp"

#include <cstring>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/compute/elementwise_call.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

bool is_of_integers(const State& state, PyObject* object) {
  if (!is_array(state, object)) return PyLong_Check(object) && !PyBool_Check(object);
  const core::Kind kind = view_of(object).dtype.kind;
  return kind == core::Kind::kInt || kind == core::Kind::kUInt;
}

/// Whether x1 < x2 for an element of arrays, or for numbers.
bool is_any_less(const State& state, PyObject* x1, PyObject* x2) {
  if (!is_array(state, x1) && !is_array(state, x2))
    return check(PyObject_RichCompareBool(plain_number(x1).get(), plain_number(x2).get(), Py_LT));
  const Ref less = compute_binary(state, core::Elementwise::kLess, x1, x2);
  const core::ArrayView found = view_of(less.get());  // without gaps: it is new
  return std::memchr(found.data, 1, static_cast<std::size_t>(found.size())) != nullptr;
}

}  // namespace

void require_defined_result(const State& state, core::Elementwise operation, PyObject* x1,
                            PyObject* x2) {
  const bool is_power = operation == core::Elementwise::kPow;
  if (!is_power && operation != core::Elementwise::kBitwiseLeftShift &&
      operation != core::Elementwise::kBitwiseRightShift)
    return;
  if (!is_of_integers(state, x1) || !is_of_integers(state, x2)) return;
  if (is_array(state, x2) && view_of(x2).dtype.kind == core::Kind::kUInt) return;
  const Ref zero = check(PyLong_FromLong(0));
  if (!is_any_less(state, x2, zero.get())) return;
  core::fail(Fault::kValue, core::row_of(operation).name, "(): x2 has a negative ",
             is_power ? "exponent, and the powers are of integers" : "number of bits",
             "; the standard leaves the result open, and this namespace is strict");
}

void require_ordered_limits(const State& state, PyObject* min, PyObject* max) {
  if (!is_any_less(state, max, min)) return;
  core::fail(Fault::kValue,
             "clip(): min is above max; the standard leaves the result open, and this namespace is "
             "strict");
}

}  // namespace refarray::extension
