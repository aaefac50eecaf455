// The helpers of the extension fft: fftfreq, rfftfreq, fftshift, ifftshift.
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/error.hpp"
#include "core/promotion.hpp"
#include "extension/compute/manipulation/repeating.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr FunctionRow kFftfreq{
    "fftfreq",
    "n, /, *, d=1.0, dtype=None, device=None",
    Category::kFourier,
    2022,
    R"doc(Return the frequencies of the elements of a discrete Fourier transform.

The k-th element is k / (n * d) for k < n / 2, then (k - n) / (n * d).

n: the number of elements, 1 or more.
d: the distance of the samples, a number other than 0.
dtype: a real floating-point dtype; None: float64, in which they are computed.
device: of the result; None: the CPU.

Raises ValueError for n less than 1 and d == 0, TypeError for other dtypes.)doc",
};

constexpr FunctionRow kRfftfreq{
    "rfftfreq",
    "n, /, *, d=1.0, dtype=None, device=None",
    Category::kFourier,
    2022,
    R"doc(Return the frequencies of the elements that rfft() returns.

The k-th element is k / (n * d), for k <= n / 2.

n: the number of elements of the argument of rfft(), 1 or more.
d: the distance of the samples, a number other than 0.
dtype: a real floating-point dtype; None: float64, in which they are computed.
device: of the result; None: the CPU.

Raises ValueError for n less than 1 and d == 0, TypeError for other dtypes.)doc",
};

constexpr FunctionRow kFftshift{
    "fftshift",
    "x, /, *, axes=None",
    Category::kFourier,
    2022,
    R"doc(Return x with the element of frequency 0 in the middle of each axis.

x: an array of a floating-point dtype, in the order of fftfreq().
axes: an axis or a sequence of axes; None: all. One that is named twice is shifted
    twice.

Returns a new array; each axis is rolled by half of its extent, rounded down.
Raises TypeError for other dtypes, IndexError for an axis out of range.)doc",
};

constexpr FunctionRow kIfftshift{
    "ifftshift",
    "x, /, *, axes=None",
    Category::kFourier,
    2022,
    R"doc(Return x with the element of frequency 0 at the beginning of each axis.

The inverse of fftshift(): each axis is rolled back by half of its extent, rounded
down.

x: an array of a floating-point dtype.
axes: an axis or a sequence of axes; None: all. One that is named twice is shifted
    twice.

Returns a new array.
Raises TypeError for other dtypes, IndexError for an axis out of range.)doc",
};

double to_distance(State& state, PyObject* argument, const char* function) {
  if (argument == nullptr) return 1;
  const Ref number = to_number(state, argument);
  if (!number || PyComplex_Check(number.get()))
    core::fail(Fault::kType, function, "(): d must be a real number, not ", type_name(argument));
  const double d = check_number<PyFloat_AsDouble>(number.get());  // OverflowError for huge integers
  if (d == 0) core::fail(Fault::kValue, function, "(): d is 0; it must be another number");
  return d;
}

core::DType to_real_dtype(const State& state, PyObject* argument, const char* function) {
  const core::DType out = to_dtype_or(state, argument, default_dtype(NumberKind::kFloat));
  const bool is_real_floating =
      (out.kind == core::Kind::kFloat || out.kind == core::Kind::kBfloat) && out.lanes == 1;
  if (!is_real_floating) {
    core::fail(Fault::kType, function, "(): dtype is ", core::name(out),
               "; it must be a real floating-point dtype");
  }
  return out;
}

/// i / (n * d), rounded once unless n * d is out of range.
double frequency(double i, double n, double d) noexcept {
  const double product = n * d;
  if (!std::isnormal(product)) return i / n / d;
  const double quotient = i / product;
  if (!std::isfinite(quotient)) return quotient;
  const double rest = std::fma(-quotient, product, i) - quotient * std::fma(n, d, -product);
  return quotient + rest / product;
}

/// `kHasNegative` is an argument: with sanitizers, g++ compares no addresses of rows in constants.
template <const FunctionRow& kRow, bool kHasNegative>
Ref frequencies(State& state, const Given<kRow>& given) {
  const auto [n_argument, d_argument, dtype_argument, device_argument] = given;
  const std::int64_t n = to_int64(n_argument, "n");
  if (n < 1) core::fail(Fault::kValue, kRow.name, "(): n is ", n, "; it must be 1 or more");
  const double d = to_distance(state, d_argument, kRow.name);
  const core::DType dtype = to_real_dtype(state, dtype_argument, kRow.name);
  const core::Device device = to_device_or(state, device_argument, core::Device{});
  const std::int64_t count = kHasNegative ? n : n / 2 + 1;
  core::Array out = core::new_array({core::Kind::kFloat, 64}, {&count, 1}, /*zeroed=*/false);
  auto* to = reinterpret_cast<double*>(out.data);
  for_each_index(count, [&](std::int64_t i) {
    const bool is_negative = kHasNegative && i > (n - 1) / 2;
    to[i] = frequency(static_cast<double>(is_negative ? i - n : i), static_cast<double>(n), d);
  });
  if (dtype == out.dtype && device == core::Device{}) return make_array(state, std::move(out));
  return make_array(state, working_copy(out, dtype, device));
}

template <const FunctionRow& kRow, bool kIsInverse>
Ref shift(const State& state, const Given<kRow>& given) {
  const auto [x, axes] = given;
  const core::ArrayView array = to_view(state, x, kRow.name);
  require_computable(array.dtype, kRow.name, core::dtype_sets::kFloating);
  std::int64_t shifts[core::kMaxRank] = {};
  const auto add = [&](int axis) {
    const std::int64_t half = array.shape[axis] / 2;
    shifts[axis] = total_shift(shifts[axis], kIsInverse ? -half : half, array.shape[axis]);
  };
  if (is_given(axes)) {
    const auto chosen = to_integers(axes, "axes");  // outlives its span
    for (const std::int64_t axis : chosen.span()) add(core::normalize_axis(axis, array.ndim));
  } else {
    for (int axis = 0; axis < array.ndim; ++axis) add(axis);
  }
  return make_array(state, rolled(array, shifts));
}

}  // namespace

PyMethodDef kFrequencyFunctions[] = {
    entry<kFftfreq, &frequencies<kFftfreq, true>>(),
    entry<kRfftfreq, &frequencies<kRfftfreq, false>>(),
    entry<kFftshift, &shift<kFftshift, false>>(),
    entry<kIfftshift, &shift<kIfftshift, true>>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
