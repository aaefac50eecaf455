// Implements arange(): exactly for integers of any size, in float64 for floats.
#include "extension/creation/arange.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/copy/copying.hpp"
#include "extension/creation/creation_rows.hpp"
#include "extension/creation/split_number.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::Kind;

/// start, stop and step, each exactly an int or a float.
struct Interval {
  Ref start;
  Ref stop;
  Ref step;
  bool is_integer = true;
};

/// For a length that does not fit int64; shorter ranges fail at allocation, which names the size.
[[noreturn, gnu::cold]] void fail_too_long() {
  core::fail(Fault::kValue, "arange: the interval contains more numbers than the limit, 2**63 - 1");
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

// --- Integers, by Python's range, which is exact for ints of any size.

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
    fail_too_long();
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

// --- Floats, by the standard's formula in float64, but for ints that float64 would round.

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
  if (length >= 0x1p63) fail_too_long();
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

}  // namespace

Ref arange(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& state = State::of_module(module);
  const auto [start, stop, step, dtype_object, device_object] =
      bind<kArange>(state, args, nargs, kwnames);
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

}  // namespace refarray::extension
