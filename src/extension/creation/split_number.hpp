// A real number of Python as the sum of two doubles, for ranges: ints beyond 2^53 are not rounded.
#pragma once

#include <cmath>

#include "extension/capi/errors.hpp"

namespace refarray::extension {

/// The number is high + low, and `high` the nearest double.
struct SplitNumber {
  double high;
  double low = 0;
};

/// The nearest double. `number` is exactly an int or a float; OverflowError for an int out of
/// range.
inline double as_double(PyObject* number) {
  const double out = PyFloat_AsDouble(number);
  if (out == -1.0 && PyErr_Occurred() != nullptr) throw ErrorSet{};
  return out;
}

/// Fails as as_double() does.
inline SplitNumber split(PyObject* number) {
  const double high = as_double(number);
  if (PyFloat_Check(number) || std::fabs(high) < 0x1p53) return {high};
  const Ref rounded = check(PyLong_FromDouble(high));
  const Ref rest = check(PyNumber_Subtract(number, rounded.get()));
  return {high, as_double(rest.get())};
}

/// stop - start, of which near ints lose no digits.
inline double distance(const SplitNumber& start, const SplitNumber& stop) noexcept {
  return (stop.high - start.high) + (stop.low - start.low);
}

}  // namespace refarray::extension
