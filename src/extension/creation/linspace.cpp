// linspace(): evenly spaced numbers, computed in float64.
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/element.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/copy/copying.hpp"
#include "extension/creation/rows_ranges.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::Kind;

/// A real or complex number.
struct Bound {
  double parts[2];  // real, imaginary
  bool is_complex;
};

Bound to_bound(State& state, PyObject* object, const char* what) {
  const Ref number = to_number(state, object);
  if (!number) core::fail(Fault::kType, what, " must be a number, not ", type_name(object));
  if (PyComplex_Check(number.get())) {
    return {{PyComplex_RealAsDouble(number.get()), PyComplex_ImagAsDouble(number.get())}, true};
  }
  const double value = PyFloat_AsDouble(number.get());  // OverflowError for huge integers
  if (value == -1.0 && PyErr_Occurred() != nullptr) throw ErrorSet{};
  return {{value, 0.0}, false};
}

/// Number i of `steps` steps from `start` to `stop`. The products are exact for small integers, so
/// that integer results are too.
double at(double start, double stop, std::int64_t i, std::int64_t steps) noexcept {
  if (i == 0) return start;
  if (i == steps) return stop;
  const auto n = static_cast<double>(i);
  const auto all = static_cast<double>(steps);
  const double product = (stop - start) * n;
  if (std::isfinite(product)) return start + product / all;
  return start * ((all - n) / all) + stop * (n / all);  // the product overflows, not the result
}

core::Array numbers(const Bound& start, const Bound& stop, std::int64_t count, std::int64_t steps,
                    bool is_complex) {
  const core::DType dtype{is_complex ? Kind::kComplex : Kind::kFloat,
                          static_cast<std::uint8_t>(is_complex ? 128 : 64)};
  core::Array out = core::new_array(dtype, {&count, 1}, /*zeroed=*/false);
  auto* to = reinterpret_cast<double*>(out.data);
  const int parts = is_complex ? 2 : 1;
  for_each_index(count, [&](std::int64_t i) {
    for (int part = 0; part < parts; ++part)
      to[i * parts + part] = at(start.parts[part], stop.parts[part], i, steps);
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

Ref linspace(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& state = State::of_module(module);
  const auto [start_argument, stop_argument, num, dtype_argument, device_argument, endpoint] =
      bind<kLinspace>(state, args, nargs, kwnames);
  const Bound start = to_bound(state, start_argument, "start");
  const Bound stop = to_bound(state, stop_argument, "stop");
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

PyMethodDef kLinspaceFunctions[] = {
    entry<kLinspace, &linspace>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
