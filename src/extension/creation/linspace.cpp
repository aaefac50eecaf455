// linspace(): evenly spaced numbers, computed in float64.
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/copy/copying.hpp"
#include "extension/creation/range_rows.hpp"
#include "extension/creation/split_number.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::Kind;

/// A real or complex number.
struct Bound {
  SplitNumber parts[2];  // real, imaginary
  bool is_complex;
};

Bound to_bound(State& state, PyObject* object, const char* what) {
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

core::Array numbers(const Bound& start, const Bound& stop, std::int64_t count, std::int64_t steps,
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
