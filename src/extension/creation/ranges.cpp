// arange(), exactly for integers of any size and in float64 for floats, and linspace(), evenly
// spaced numbers, computed in float64.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::Kind;

constexpr FunctionRow kArange{
    "arange",
    "start, /, stop=None, step=1, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return the numbers start, start + step, ... up to but excluding stop.

start, stop: the interval. If stop is None, start is the stop and the interval
    begins at 0.
step: any number but 0; a negative step counts down.
dtype: any but bool. None is int64 if all three arguments are integers, and
    float64 otherwise.
device: the device of the result. None is the CPU.

The length is ceil((stop - start) / step). It and the elements are exact for
integers of any size, also if some are floats. Other numbers are computed in
float64; ints are subtracted before they are rounded.

Raises TypeError for arguments that are not real numbers and for floats with an
integer dtype; ValueError for a step of 0, NaN, infinity, and more than 2**63 - 1
numbers; OverflowError for an int that dtype cannot represent; and MemoryError.)doc",
};

constexpr FunctionRow kLinspace{
    "linspace",
    "start, stop, /, num, *, dtype=None, device=None, endpoint=True",
    Category::kCreation,
    2021,
    R"doc(Return num evenly spaced numbers from start to stop.

start, stop: numbers; the first and, if endpoint is True, the last element are
    exactly these.
dtype: a floating-point dtype; None selects float64, or complex128 if start or
    stop is complex. Numbers are computed in float64, ints subtracted before they
    are rounded, and then rounded once.
endpoint: False leaves stop out, as if of num + 1 numbers the last were dropped.

Raises ValueError for a negative num, OverflowError for an int that float64 cannot
represent, and TypeError for other dtypes and types.)doc",
};

// --- A real number of Python as the sum of two doubles: ints beyond 2^53 are not rounded.

/// The number is high + low, and `high` the nearest double.
struct SplitNumber {
  double high;
  double low = 0;
};

/// The nearest double. `number` is exactly an int or a float; OverflowError for an int out of
/// range.
double as_double(PyObject* number) {
  const double out = PyFloat_AsDouble(number);
  if (out == -1.0 && PyErr_Occurred() != nullptr) throw ErrorSet{};
  return out;
}

/// Fails as as_double() does.
SplitNumber split(PyObject* number) {
  const double high = as_double(number);
  if (PyFloat_Check(number) || std::fabs(high) < 0x1p53) return {high};
  const Ref rounded = check(PyLong_FromDouble(high));
  const Ref rest = check(PyNumber_Subtract(number, rounded.get()));
  return {high, as_double(rest.get())};
}

/// stop - start, of which near ints lose no digits.
double distance(const SplitNumber& start, const SplitNumber& stop) noexcept {
  return (stop.high - start.high) + (stop.low - start.low);
}

// --- arange

/// start, stop and step, each exactly an int or a float.
struct Interval {
  Ref start;
  Ref stop;
  Ref step;
  bool is_integer = true;
};

/// For a length that does not fit an integer of `size` bytes; shorter ranges fail at allocation,
/// which names the size.
[[noreturn, gnu::cold]] void fail_too_long(std::size_t size) {
  core::fail(Fault::kValue, "arange: the interval contains more numbers than the limit, 2**",
             8 * size - 1, " - 1");
}

Ref to_bound(State& state, PyObject* object, const char* what, bool& is_integer) {
  Ref number = to_number(state, object);
  if (!number || PyComplex_Check(number.get())) {
    core::fail(Fault::kType, what, " must be an integer or a float, not ", type_name(object));
  }
  if (!PyFloat_Check(number.get())) return check(calling<PyNumber_Index>(number.get()));
  is_integer = false;
  if (std::isfinite(check_number<PyFloat_AsDouble>(number.get()))) return number;
  core::fail(Fault::kValue, what, " is ", utf8(check(calling<PyObject_Str>(number.get())).get()),
             "; it must be finite");
}

Interval to_interval(State& state, PyObject* start, PyObject* stop, PyObject* step) {
  Interval out;
  const bool one_bound = !is_given(stop);
  out.stop =
      to_bound(state, one_bound ? start : stop, one_bound ? "start" : "stop", out.is_integer);
  out.start =
      one_bound ? check(PyLong_FromLong(0)) : to_bound(state, start, "start", out.is_integer);
  out.step =
      step == nullptr ? check(PyLong_FromLong(1)) : to_bound(state, step, "step", out.is_integer);
  if (check(PyObject_IsTrue(out.step.get())) == 0)
    core::fail(Fault::kValue, "step is 0; it must not be 0");
  return out;
}

void check_dtype(const core::DType& dtype, const Interval& interval) {
  const bool is_integer = dtype.kind == Kind::kInt || dtype.kind == Kind::kUInt;
  if (dtype.kind == Kind::kBool || dtype.lanes != 1) {
    core::fail(Fault::kType, "arange: dtype is ", core::name(dtype),
               "; it must be an integer or a floating-point dtype");
  }
  if (is_integer && !interval.is_integer) {
    core::fail(Fault::kType, "arange: floats cannot become elements of dtype ", core::name(dtype),
               "; pass integers or a floating-point dtype");
  }
}

// Integers, by Python's range, which is exact for ints of any size.

/// The value of an int if `T` can represent it.
template <class T>
std::optional<T> int_as(PyObject* number) {
  T out{};
  if constexpr (std::is_signed_v<T>) {
    int overflow = 0;
    out = PyLong_AsLongLongAndOverflow(number, &overflow);  // an int: cannot fail
    if (overflow == 0) return out;
  } else {
    out = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() == nullptr) return out;
    compat::clear_raised();  // negative or too large for T
  }
  return std::nullopt;
}

/// Writes start + i * step for each i; false if T cannot represent the first or the last number. If
/// it can, it represents all of them, and unsigned arithmetic modulo 2**64 gives the exact results.
template <class T>
bool fill_64_bit(core::Array& out, std::int64_t size, PyObject* first, PyObject* last,
                 PyObject* step) {
  const std::optional<T> begin = int_as<T>(first);
  if (!begin || !int_as<T>(last)) return false;
  // An int: cannot fail.
  const auto stride = static_cast<std::uint64_t>(PyLong_AsUnsignedLongLongMask(step));
  const auto start = static_cast<std::uint64_t>(*begin);
  auto* to = reinterpret_cast<T*>(out.data);
  for_each_index(size, [=](std::int64_t i) {
    to[i] = static_cast<T>(start + static_cast<std::uint64_t>(i) * stride);
  });
  return true;
}

core::Array integer_range(const Interval& interval, const core::DType& dtype) {
  auto* range_type = reinterpret_cast<PyObject*>(&PyRange_Type);
  const Ref range = check(calling<PyObject_CallFunctionObjArgs>(
      range_type, interval.start.get(), interval.stop.get(), interval.step.get(), nullptr));
  const Py_ssize_t size = PyObject_Size(range.get());
  if (size < 0) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) throw ErrorSet{};
    compat::clear_raised();  // replaced by a message of our own
    fail_too_long(sizeof size);
  }
  const std::int64_t shape[] = {size};
  if (size == 0) return core::new_array(dtype, shape, false);
  core::checked_nbytes(size, dtype);
  const Ref first = check(calling<PySequence_GetItem>(range.get(), 0));
  const Ref last = check(calling<PySequence_GetItem>(range.get(), size - 1));
  // Throws if an end of the range is out of range for the dtype; the other numbers lie between
  // them.
  const core::Array scratch = core::new_array(dtype, {}, true);
  write_scalar(dtype, scratch.data, 0, first.get());
  write_scalar(dtype, scratch.data, 0, last.get());
  const bool is_unsigned = dtype.kind == Kind::kUInt;
  const core::DType wide_dtype{is_unsigned ? Kind::kUInt : Kind::kInt, 64};
  core::Array wide = core::new_array(wide_dtype, shape, false);
  const bool done =
      is_unsigned
          ? fill_64_bit<std::uint64_t>(wide, size, first.get(), last.get(), interval.step.get())
          : fill_64_bit<std::int64_t>(wide, size, first.get(), last.get(), interval.step.get());
  if (done) return dtype == wide_dtype ? wide : working_copy(wide, dtype);
  // Only floating-point dtypes represent ints beyond 64 bits.
  core::Array out = core::new_array(dtype, shape, dtype.is_sub_byte());
  for_each_index(size, [&](std::int64_t i) {
    const Ref number = check(calling<PySequence_GetItem>(range.get(), static_cast<Py_ssize_t>(i)));
    write_scalar(dtype, out.data, i * dtype.stored_bits(), number.get());
  });
  return out;
}

// Floats, by the standard's formula in float64, but for ints that float64 would round.

/// The interval in ints, if all its numbers are integers and some of them are ints.
std::optional<Interval> in_integers(const Interval& interval) {
  Interval out;
  bool has_int = false;
  for (Ref Interval::* const number : {&Interval::start, &Interval::stop, &Interval::step}) {
    PyObject* const given = (interval.*number).get();
    const double value = as_double(given);
    if (value != std::trunc(value)) return std::nullopt;
    has_int |= !PyFloat_Check(given);
    out.*number = PyFloat_Check(given) ? check(PyLong_FromDouble(value)) : Ref::borrow(given);
  }
  return has_int ? std::optional(std::move(out)) : std::nullopt;
}

/// ceil((stop - start) / step)
double range_length(const SplitNumber& start, const SplitNumber& stop, double step) {
  const double all = distance(start, stop);
  if (std::isfinite(all)) return std::ceil(all / step);
  return std::ceil((stop.high / 2 - start.high / 2) / (step / 2));  // only the difference overflows
}

core::Array float_range(const Interval& interval, const core::DType& dtype) {
  constexpr core::DType kWide{Kind::kFloat, 64};
  const SplitNumber start = split(interval.start.get()), stop = split(interval.stop.get());
  const double step = as_double(interval.step.get());
  if (std::max({std::fabs(start.high), std::fabs(stop.high), std::fabs(step)}) >= 0x1p53) {
    if (const std::optional<Interval> integers = in_integers(interval))
      return integer_range(*integers, dtype);
  }
  const double length = range_length(start, stop, step);
  if (length >= 0x1p63) fail_too_long(sizeof(std::int64_t));
  const std::int64_t shape[] = {length > 0 ? static_cast<std::int64_t>(length) : 0};
  core::Array wide = core::new_array(kWide, shape, false);
  auto* to = reinterpret_cast<double*>(wide.data);
  const double first = start.high, rest = start.low;
  if (rest == 0) {
    for_each_index(shape[0],
                   [=](std::int64_t i) { to[i] = first + static_cast<double>(i) * step; });
  } else {
    for_each_index(shape[0],
                   [=](std::int64_t i) { to[i] = first + (rest + static_cast<double>(i) * step); });
  }
  return dtype == kWide ? wide : working_copy(wide, dtype);
}

Ref arange(State& state, const Given<kArange>& given) {
  const auto [start, stop, step, dtype_object, device_object] = given;
  const Interval interval = to_interval(state, start, stop, step);
  const core::DType dtype =
      to_dtype_or(state, dtype_object,
                  default_dtype(interval.is_integer ? NumberKind::kInt : NumberKind::kFloat));
  const core::Device device = to_device_or(state, device_object, core::Device{});
  check_dtype(dtype, interval);
  core::Array out =
      interval.is_integer ? integer_range(interval, dtype) : float_range(interval, dtype);
  if (device == core::Device{}) return make_array(state, std::move(out));
  return make_array(state, working_copy(out, dtype, device));
}

// --- linspace

/// A real or complex number.
struct End {
  SplitNumber parts[2];  // real, imaginary
  bool is_complex;
};

End to_end(State& state, PyObject* object, const char* what) {
  const Ref number = to_number(state, object);
  if (!number) core::fail(Fault::kType, what, " must be a number, not ", type_name(object));
  if (PyComplex_Check(number.get())) {
    return {{{PyComplex_RealAsDouble(number.get())}, {PyComplex_ImagAsDouble(number.get())}}, true};
  }
  return {{split(number.get()), {0.0}}, false};
}

/// `steps` steps from `start` to `stop`, of a real or an imaginary part.
class Line {
 public:
  Line(const SplitNumber& start, const SplitNumber& stop, std::int64_t steps) noexcept
      : start_(start.high),
        rest_(start.low),
        stop_(stop.high),
        distance_(distance(start, stop)),
        steps_(steps) {}

  /// Number i. The products are exact for small integers, so that integer results are too.
  double operator[](std::int64_t i) const noexcept {
    if (i == 0) return start_;
    if (i == steps_) return stop_;
    const auto n = static_cast<double>(i);
    const auto all = static_cast<double>(steps_);
    const double product = distance_ * n;
    if (!std::isfinite(product))  // the product overflows, not the result
      return start_ * ((all - n) / all) + stop_ * (n / all);
    const double passed = product / all;
    return start_ + (rest_ == 0 ? passed : rest_ + passed);
  }

 private:
  double start_, rest_, stop_, distance_;
  std::int64_t steps_;
};

core::Array numbers(const End& start, const End& stop, std::int64_t count, std::int64_t steps,
                    bool is_complex) {
  const core::DType dtype{is_complex ? Kind::kComplex : Kind::kFloat,
                          static_cast<std::uint8_t>(is_complex ? 128 : 64)};
  core::Array out = core::new_array(dtype, {&count, 1}, /*zeroed=*/false);
  auto* to = reinterpret_cast<double*>(out.data);
  const Line real(start.parts[0], stop.parts[0], steps);
  if (!is_complex) {
    for_each_index(count, [=](std::int64_t i) { to[i] = real[i]; });
    return out;
  }
  const Line imag(start.parts[1], stop.parts[1], steps);
  for_each_index(count, [=](std::int64_t i) {
    to[2 * i] = real[i];
    to[2 * i + 1] = imag[i];
  });
  return out;
}

core::DType to_float_dtype(const State& state, PyObject* argument, bool is_complex) {
  const core::DType out = to_dtype_or(
      state, argument, default_dtype(is_complex ? NumberKind::kComplex : NumberKind::kFloat));
  const bool is_integer =
      out.kind == Kind::kInt || out.kind == Kind::kUInt || out.kind == Kind::kBool;
  if (is_integer || out.lanes != 1) {
    core::fail(Fault::kType, "linspace(): dtype is ", core::name(out),
               "; it must be a floating-point dtype");
  }
  if (is_complex && !out.is_complex()) {
    core::fail(Fault::kType, "linspace(): complex numbers cannot become elements of dtype ",
               core::name(out));
  }
  return out;
}

Ref linspace(State& state, const Given<kLinspace>& given) {
  const auto [start_argument, stop_argument, num, dtype_argument, device_argument, endpoint] =
      given;
  const End start = to_end(state, start_argument, "start");
  const End stop = to_end(state, stop_argument, "stop");
  const std::int64_t count = to_int64(num, "num");
  if (count < 0) core::fail(Fault::kValue, "num is ", count, "; it must be 0 or more");
  const core::DType dtype =
      to_float_dtype(state, dtype_argument, start.is_complex || stop.is_complex);
  const core::Device device = to_device_or(state, device_argument, core::Device{});
  const bool has_end = endpoint == nullptr || check(calling<PyObject_IsTrue>(endpoint)) != 0;
  const std::int64_t steps = has_end && count > 1 ? count - 1 : count;
  core::Array wide = numbers(start, stop, count, steps, dtype.is_complex());
  if (dtype == wide.dtype && device == core::Device{}) return make_array(state, std::move(wide));
  return make_array(state, working_copy(wide, dtype, device));
}

}  // namespace

PyMethodDef kRangeFunctions[] = {
    entry<kArange, &arange>(),
    entry<kLinspace, &linspace>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
