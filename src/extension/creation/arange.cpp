// Owns arange: how many numbers lie in a half-open interval, exactly, and which.
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/element.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/creation/creation.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::Kind;

/// start, stop and step as plain ints and floats.
struct Interval {
  Ref start;
  Ref stop;
  Ref step;
  bool is_integer = true;
};

/// The length is in a message already where it can be; this is for one that not even int64 holds.
[[noreturn, gnu::cold]] void fail_too_long() {
  core::fail(Fault::kValue,
             "arange: the interval holds more than 2**63 - 1 numbers, which is the limit");
}

Ref to_bound(State& state, PyObject* object, const char* what, bool& is_integer) {
  Ref number = to_number(state, object);
  if (!number || PyComplex_Check(number.get())) {
    core::fail(Fault::kType, what, " must be an integer or a float, not ", type_name(object));
  }
  if (!PyFloat_Check(number.get())) return check(calling<PyNumber_Index>(number.get()));
  is_integer = false;
  if (std::isfinite(PyFloat_AsDouble(number.get()))) return number;
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
  if (PyObject_IsTrue(out.step.get()) == 0) core::fail(Fault::kValue, "step is 0; it must not be");
  return out;
}

void check_dtype(const core::DType& dtype, const Interval& interval) {
  const bool is_integer = dtype.kind == Kind::kInt || dtype.kind == Kind::kUInt;
  if (dtype.is_complex() || dtype.kind == Kind::kBool || dtype.lanes != 1) {
    core::fail(Fault::kType, "arange: dtype is ", core::name(dtype),
               "; it must be a real number's");
  }
  if (is_integer && !interval.is_integer) {
    core::fail(Fault::kType, "arange: floats cannot become elements of dtype ", core::name(dtype),
               "; give integers, or a dtype of floats");
  }
}

// --- Integers: exact whatever their size, by Python's own range.

/// A number of the range as a value of `T`, if it fits.
template <class T>
std::optional<T> value_in(PyObject* number) {
  T out{};
  if constexpr (std::is_signed_v<T>) {
    int overflow = 0;
    out = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow == 0) return out;
  } else {
    out = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() == nullptr) return out;
    PyErr_Clear();  // negative or too large: that is the answer
  }
  return std::nullopt;
}

/// start + i * step for all i; first and last fit T, therefore all do, and wrapping arithmetic is
/// exact.
template <class T>
bool fill_machine(core::Array& out, std::int64_t size, PyObject* first, PyObject* last,
                  PyObject* step) {
  const std::optional<T> begin = value_in<T>(first);
  if (!begin || !value_in<T>(last)) return false;
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
    PyErr_Clear();  // said in our words
    fail_too_long();
  }
  const std::int64_t shape[] = {size};
  if (size == 0) return core::new_array(dtype, shape, false);
  core::checked_nbytes(size, dtype);
  const Ref first = check(calling<PySequence_GetItem>(range.get(), 0));
  const Ref last = check(calling<PySequence_GetItem>(range.get(), size - 1));
  const core::Array probe = core::new_array(dtype, {}, true);
  write_scalar(dtype, probe.data, 0,
               first.get());  // throws when out of range; what lies between them is not then
  write_scalar(dtype, probe.data, 0, last.get());
  const bool is_unsigned = dtype.kind == Kind::kUInt;
  const core::DType machine{is_unsigned ? Kind::kUInt : Kind::kInt, 64};
  core::Array wide = core::new_array(machine, shape, false);
  const bool done =
      is_unsigned
          ? fill_machine<std::uint64_t>(wide, size, first.get(), last.get(), interval.step.get())
          : fill_machine<std::int64_t>(wide, size, first.get(), last.get(), interval.step.get());
  if (done) return dtype == machine ? wide : copy_to_new(wide, dtype);
  core::Array out = core::new_array(dtype, shape, dtype.is_sub_byte());  // floats beyond int64
  for_each_index(size, [&](std::int64_t i) {
    const Ref number = check(calling<PySequence_GetItem>(range.get(), static_cast<Py_ssize_t>(i)));
    write_scalar(dtype, out.data, i * dtype.stored_bits(), number.get());
  });
  return out;
}

// --- Floats: the standard's formula in float64.

double as_double(PyObject* number) {
  const double out = PyFloat_AsDouble(number);
  if (out == -1.0 && PyErr_Occurred() != nullptr) throw ErrorSet{};
  return out;
}

core::Array float_range(const Interval& interval, const core::DType& dtype) {
  constexpr core::DType kWide{Kind::kFloat, 64};
  const double start = as_double(interval.start.get());
  const double stop = as_double(interval.stop.get());
  const double step = as_double(interval.step.get());
  const double length = std::ceil((stop - start) / step);
  if (length >= 0x1p63) fail_too_long();
  const std::int64_t shape[] = {length > 0 ? static_cast<std::int64_t>(length) : 0};
  core::Array wide = core::new_array(kWide, shape, false);
  auto* to = reinterpret_cast<double*>(wide.data);
  for_each_index(shape[0], [=](std::int64_t i) { to[i] = start + static_cast<double>(i) * step; });
  return dtype == kWide ? wide : copy_to_new(wide, dtype);
}

}  // namespace

Ref arange(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static constexpr Signature<5> kSignature{
      "arange", {Key::kStart, Key::kStop, Key::kStep, Key::kDtype, Key::kDevice}, 3, 1, 1};
  State& state = State::of_module(module);
  const auto [start, stop, step, dtype_object, device_object] =
      bind(kSignature, state, args, nargs, kwnames);
  const Interval interval = to_interval(state, start, stop, step);
  const core::DType dtype =
      to_dtype_or(state, dtype_object,
                  default_dtype(interval.is_integer ? NumberKind::kInt : NumberKind::kFloat));
  const core::Device device = to_device_or(state, device_object, core::Device{});
  check_dtype(dtype, interval);
  core::Array out =
      interval.is_integer ? integer_range(interval, dtype) : float_range(interval, dtype);
  if (device == core::Device{}) return make_array(state, std::move(out));
  return make_array(state, copy_to_new(out, dtype, device));
}

const char* const kArangeDoc =
    "arange($module, start, /, stop=None, step=1, *, dtype=None, device=None)\n--\n\n"
    "The numbers start, start + step, ... before stop, in one axis (array API 2025.12, arange).\n\n"
    "start: is stop when stop is None, and 0 is then the start. step: not 0; negative counts "
    "down.\n"
    "dtype: a real one; None is int64 when all three are integers, else float64. device: the CPU "
    "when None.\n"
    "The length is ceil((stop - start) / step): of integers exact, whatever their size; of floats "
    "in float64.\n\n"
    "Raises TypeError for what is no real number and for floats with a dtype of integers, "
    "ValueError for step 0, NaN\n"
    "or infinity and for more than 2**63 - 1 numbers, OverflowError for an int that the dtype "
    "cannot hold,\n"
    "MemoryError when there is no such memory.";

}  // namespace refarray::extension
