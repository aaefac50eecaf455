// The Fourier transforms of the extension fft.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "compute/fft/transform.hpp"
#include "core/error.hpp"
#include "core/promotion.hpp"
#include "extension/capi/gil.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::Direction;
using core::Fault;

/// What a function takes, returns and computes.
struct Kind {
  const char* name;
  bool takes_real;
  bool gives_real;
  Direction direction;
  bool is_inverse;                // norm="backward" divides by n
  std::string_view summary = {};  // the beginning of the docstring
};

constexpr char kFftText[] = R"doc(Return the discrete Fourier transform along an axis.

out[j] = sum over k of x[k] * exp(-2 pi i j k / n).)doc";
constexpr Kind kFft{"fft", false, false, Direction::kForward, false, kFftText};

constexpr char kIfftText[] = R"doc(Return the inverse discrete Fourier transform along an axis.

out[j] = sum over k of x[k] * exp(2 pi i j k / n) / n.)doc";
constexpr Kind kIfft{"ifft", false, false, Direction::kBackward, true, kIfftText};

constexpr char kRfftText[] =
    R"doc(Return the discrete Fourier transform of real numbers along an axis.

The transform is Hermitian: only its first n // 2 + 1 elements are returned, of which
the first one is real.)doc";
constexpr Kind kRfft{"rfft", true, false, Direction::kForward, false, kRfftText};

constexpr char kIrfftText[] =
    R"doc(Return the real inverse of a Hermitian Fourier transform along an axis.

x has the first n // 2 + 1 elements of the transform. Imaginary parts of element 0,
and of element n / 2 if n is even, are ignored.)doc";
constexpr Kind kIrfft{"irfft", false, true, Direction::kBackward, true, kIrfftText};

constexpr char kHfftText[] =
    R"doc(Return the real Fourier transform of a Hermitian sequence along an axis.

x has the first n // 2 + 1 elements of the sequence. Imaginary parts of element 0,
and of element n / 2 if n is even, are ignored.)doc";
constexpr Kind kHfft{"hfft", false, true, Direction::kForward, false, kHfftText};

constexpr char kIhfftText[] =
    R"doc(Return the Hermitian inverse of a real Fourier transform along an axis.

Only the first n // 2 + 1 elements are returned.)doc";
constexpr Kind kIhfft{"ihfft", true, false, Direction::kBackward, true, kIhfftText};

constexpr char kFftnText[] = R"doc(Return the discrete Fourier transform over several axes.

The same as fft() along each of the axes.)doc";
constexpr Kind kFftn{"fftn", false, false, Direction::kForward, false, kFftnText};

constexpr char kIfftnText[] = R"doc(Return the inverse discrete Fourier transform over several axes.

The same as ifft() along each of the axes.)doc";
constexpr Kind kIfftn{"ifftn", false, false, Direction::kBackward, true, kIfftnText};

constexpr char kRfftnText[] =
    R"doc(Return the discrete Fourier transform of real numbers over several axes.

The same as rfft() along the last of the axes, then fft() along the others.)doc";
constexpr Kind kRfftn{"rfftn", true, false, Direction::kForward, false, kRfftnText};

constexpr char kIrfftnText[] =
    R"doc(Return the real inverse of a Hermitian Fourier transform over several axes.

The same as ifft() along all but the last of the axes, then irfft() along that one.)doc";
constexpr Kind kIrfftn{"irfftn", false, true, Direction::kBackward, true, kIrfftnText};

// The other lines of docstrings.
constexpr std::string_view kN =
    R"doc(n: the number of elements along the axis; x is cut or extended by zeros. None: that
    of x.)doc";
constexpr std::string_view kNOfReal =
    R"doc(n: the number of elements along the axis of the result; x is cut or extended by
    zeros to n // 2 + 1. None: 2 * (M - 1), where M is that of x.)doc";
constexpr std::string_view kNorm = R"doc(axis: counted from the end if negative.
norm: "backward" does not scale, "ortho" divides by sqrt(n), "forward" by n.)doc";
constexpr std::string_view kNormOfInverse = R"doc(axis: counted from the end if negative.
norm: "backward" divides by n, "ortho" by sqrt(n), "forward" does not scale.)doc";
constexpr std::string_view kErrors = R"doc(
Raises TypeError for other dtypes, ValueError for n less than 1, an unknown norm and
ndim 0, IndexError for an axis out of range, NotImplementedError on a device.)doc";
constexpr std::string_view kS =
    R"doc(s: the number of elements along each of the axes; x is cut or extended by zeros. -1,
    and None for all: that of x.)doc";
constexpr std::string_view kSOfReal =
    R"doc(s: the number of elements along each of the axes of the result; x is cut or extended
    by zeros. -1, and None for all: that of x, and 2 * (M - 1) for the last axis.)doc";
constexpr std::string_view kNormOfAxes =
    R"doc(axes: counted from the end if negative; None: all. s needs axes.
norm: "backward" does not scale, "ortho" divides by sqrt(N), "forward" by N, the
    product of s.)doc";
constexpr std::string_view kNormOfInverseOfAxes =
    R"doc(axes: counted from the end if negative; None: all. s needs axes.
norm: "backward" divides by the product N of s, "ortho" by sqrt(N), "forward" does
    not scale.)doc";
constexpr std::string_view kErrorsOfAxes = R"doc(
Raises TypeError for other dtypes, ValueError for an entry of s less than 1, s
without axes, s and axes of different lengths, an axis named twice and an unknown
norm, IndexError for an axis out of range, NotImplementedError on a device.)doc";
constexpr std::string_view kErrorsOfOneAxisOrMore = R"doc(
Raises TypeError for other dtypes, ValueError for an entry of s less than 1, s
without axes, s and axes of different lengths, an axis named twice, no axis and an
unknown norm, IndexError for an axis out of range, NotImplementedError on a device.)doc";

/// The docstring of a function with the lines on its lengths, norm, result and errors.
template <class Add>
constexpr void each_part(const Kind& kind, Add add, std::initializer_list<std::string_view> lines) {
  add(kind.summary);
  add("\n\nx: an array of dtype ");
  add(kind.takes_real ? "float32 or float64.\n" : "complex64 or complex128.\n");
  for (const std::string_view each : lines) add(each);
}

constexpr std::string_view result_text(const Kind& kind) noexcept {
  if (kind.gives_real) return "\n\nReturns a new array of dtype float32 or float64";
  if (!kind.takes_real) return "\n\nReturns a new array of the dtype of x";
  return R"doc(

Returns a new array of dtype complex64 or complex128 with n // 2 + 1 elements along
the )doc";
}

template <const Kind& kKind>
constexpr FunctionRow kAlongAxis{
    kKind.name, "x, /, *, n=None, axis=-1, norm='backward'", Category::kFourier, 2022,
    kJoined<[](auto add) {
      each_part(kKind, add,
                {kKind.gives_real ? kNOfReal : kN, "\n", kKind.is_inverse ? kNormOfInverse : kNorm,
                 result_text(kKind),
                 kKind.takes_real ? "axis." : " with n elements along the axis.", kErrors});
    }>.data()};

template <const Kind& kKind>
constexpr FunctionRow kAlongAxes{
    kKind.name, "x, /, *, s=None, axes=None, norm='backward'", Category::kFourier, 2022,
    kJoined<[](auto add) {
      each_part(kKind, add,
                {kKind.gives_real ? kSOfReal : kS, "\n",
                 kKind.is_inverse ? kNormOfInverseOfAxes : kNormOfAxes, result_text(kKind),
                 kKind.takes_real ? "last of the axes." : ".",
                 kKind.takes_real || kKind.gives_real ? kErrorsOfOneAxisOrMore : kErrorsOfAxes});
    }>.data()};

core::ArrayView to_input(const State& state, PyObject* x, const Kind& kind) {
  using namespace core::dtype_sets;
  const core::ArrayView array =
      computable_view(state, x, kind.name, kind.takes_real ? kRealFloating : kComplex);
  if (array.dtype.bits == 16) {
    core::fail(Fault::kType, kind.name, "(): dtype is ", core::name(array.dtype),
               "; it must be float32 or float64");
  }
  return array;
}

core::DType with_kind(const core::DType& dtype, bool is_complex) noexcept {
  if (dtype.is_complex() == is_complex) return dtype;
  return is_complex ? core::DType{core::Kind::kComplex, static_cast<std::uint8_t>(dtype.bits * 2)}
                    : core::DType{core::Kind::kFloat, static_cast<std::uint8_t>(dtype.bits / 2)};
}

/// The factor of the result of a transform of `n` elements.
double to_scale(PyObject* norm, const Kind& kind, double n) {
  std::string text = "backward";
  if (norm != nullptr) {
    constexpr const char* kWanted = "it must be 'backward', 'ortho' or 'forward'";
    if (!PyUnicode_Check(norm))
      core::fail(Fault::kType, kind.name, "(): norm is of type ", type_name(norm), "; ", kWanted);
    text = utf8(norm);
    if (text != "backward" && text != "ortho" && text != "forward")
      core::fail(Fault::kValue, kind.name, "(): norm is ", short_repr(norm), "; ", kWanted);
  }
  if (text == "ortho") return 1 / std::sqrt(n);
  return (text == "backward") == kind.is_inverse ? 1 / n : 1;
}

/// A new array: `x` transformed along one axis.
core::Array transformed(const core::ArrayView& x, int axis, std::int64_t n, const Kind& kind,
                        double scale) {
  core::Layout shape(x.extents(), x.stride_span());
  shape.shape[axis] = kind.takes_real && !kind.gives_real ? n / 2 + 1 : n;
  core::Array out =
      core::new_array(with_kind(x.dtype, !kind.gives_real), shape.extents(), /*zeroed=*/false);
  run_interruptibly(out.view().nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::transform(out, x, axis, n, kind.direction, scale, interrupt);
  });
  return out;
}

void check_length(std::int64_t n, const char* function, const char* what) {
  if (n < 1) core::fail(Fault::kValue, function, "(): ", what, " is ", n, "; it must be 1 or more");
}

/// The length that a transform has without `n` or `s`.
std::int64_t default_length(const core::ArrayView& x, int axis, bool gives_real) noexcept {
  return gives_real ? 2 * (x.shape[axis] - 1) : x.shape[axis];
}

template <const Kind& kKind>
Ref along_axis(const State& state, const Given<kAlongAxis<kKind>>& given) {
  const auto [x, n_argument, axis_argument, norm] = given;
  const core::ArrayView array = to_input(state, x, kKind);
  if (array.ndim == 0)
    core::fail(Fault::kValue, kKind.name, "(): x has ndim 0; it must be 1 or more");
  const int axis = core::normalize_axis(
      axis_argument == nullptr ? -1 : to_int64(axis_argument, "axis"), array.ndim);
  std::int64_t n = default_length(array, axis, kKind.gives_real);
  if (is_given(n_argument)) {
    n = to_int64(n_argument, "n");
    check_length(n, kKind.name, "n");
  } else if (n < 1) {
    core::fail(Fault::kValue, kKind.name, "(): axis ", axis, " has ", array.shape[axis],
               " elements, of which there is no transform without n");
  }
  const double scale = to_scale(norm, kKind, static_cast<double>(n));
  return make_array(state, transformed(array, axis, n, kKind, scale));
}

// --- Several axes.

/// The axes in the order of the argument, and the lengths of the transforms along them.
struct Lengths {
  Integers axes;
  Integers n;
};

Integers to_axes(PyObject* argument, const core::ArrayView& x, const char* function) {
  Integers axes;
  if (!is_given(argument)) {
    for (int axis = 0; axis < x.ndim; ++axis) axes.values[axes.count++] = axis;
    return axes;
  }
  axes = to_integers(argument, "axes");
  std::uint64_t seen = 0;
  for (int i = 0; i < axes.count; ++i) {
    const int axis = core::normalize_axis(axes.values[i], x.ndim);
    axes.values[i] = axis;
    if ((seen >> axis & 1) != 0)
      core::fail(Fault::kValue, function, "(): axes names axis ", axis, " more than once");
    seen |= std::uint64_t{1} << axis;
  }
  return axes;
}

/// The entries of `s` that are given; -1 stands for the others.
Integers to_lengths(PyObject* argument, bool has_axes, const Integers& axes, const char* function) {
  Integers out;
  if (!is_given(argument)) {
    out.count = axes.count;
    std::fill_n(out.values, out.count, -1);
    return out;
  }
  if (!has_axes) core::fail(Fault::kValue, function, "(): s is given without axes");
  out = to_integers(argument, "s");
  if (out.count != axes.count) {
    core::fail(Fault::kValue, function, "(): s has ", out.count, " entries and axes ", axes.count,
               "; the numbers must be equal");
  }
  for (const std::int64_t n : out.span())
    if (n != -1) check_length(n, function, "an entry of s");
  return out;
}

Lengths lengths_of(PyObject* s, PyObject* axes_argument, const core::ArrayView& x,
                   const Kind& kind) {
  Lengths out{to_axes(axes_argument, x, kind.name), {}};
  out.n = to_lengths(s, is_given(axes_argument), out.axes, kind.name);
  if (out.axes.count == 0 && kind.takes_real != kind.gives_real)
    core::fail(Fault::kValue, kind.name, "(): there must be one axis or more");
  for (int i = 0; i < out.axes.count; ++i) {
    if (out.n.values[i] != -1) continue;
    const auto axis = static_cast<int>(out.axes.values[i]);
    const bool is_last = i == out.axes.count - 1;
    out.n.values[i] = default_length(x, axis, kind.gives_real && is_last);
    if (out.n.values[i] < 1) {
      core::fail(Fault::kValue, kind.name, "(): axis ", axis, " has ", x.shape[axis],
                 " elements, of which there is no transform without s");
    }
  }
  return out;
}

/// Replaces `array` by its transform along an axis, in the same memory if its shape allows.
void transform_in_place(core::Array& array, int axis, std::int64_t n, const Kind& kind,
                        double scale) {
  if (array.layout.shape[axis] != n) {
    array = transformed(array, axis, n, kind, scale);
    return;
  }
  run_interruptibly(array.view().nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::transform(array, array, axis, n, kind.direction, scale, interrupt);
  });
}

/// The transform between real and Hermitian sequences comes first or last, along the last axis.
core::Array over_axes(const core::ArrayView& x, const Lengths& lengths, const Kind& kind,
                      double scale) {
  const Kind inner{kind.name, false, false, kind.direction, kind.is_inverse};
  const int last = lengths.axes.count - 1;
  const auto axis = [&](int i) { return static_cast<int>(lengths.axes.values[i]); };
  const auto n = [&](int i) { return lengths.n.values[i]; };
  if (kind.gives_real) {
    if (last == 0) return transformed(x, axis(0), n(0), kind, scale);
    core::Array out = transformed(x, axis(0), n(0), inner, 1);
    for (int i = 1; i < last; ++i) transform_in_place(out, axis(i), n(i), inner, 1);
    return transformed(out, axis(last), n(last), kind, scale);
  }
  core::Array out = transformed(x, axis(last), n(last), kind, scale);
  for (int i = last - 1; i >= 0; --i) transform_in_place(out, axis(i), n(i), inner, 1);
  return out;
}

template <const Kind& kKind>
Ref along_axes(const State& state, const Given<kAlongAxes<kKind>>& given) {
  const auto [x, s, axes, norm] = given;
  const core::ArrayView array = to_input(state, x, kKind);
  const Lengths lengths = lengths_of(s, axes, array, kKind);
  double elements = 1;
  for (const std::int64_t n : lengths.n.span()) elements *= static_cast<double>(n);
  const double scale = to_scale(norm, kKind, elements);
  if (lengths.axes.count == 0) return make_array(state, working_copy(array, array.dtype));
  return make_array(state, over_axes(array, lengths, kKind, scale));
}

}  // namespace

PyMethodDef kTransformFunctions[] = {
    computing_entry<kAlongAxis<kFft>, &along_axis<kFft>>(),
    computing_entry<kAlongAxis<kIfft>, &along_axis<kIfft>>(),
    computing_entry<kAlongAxis<kRfft>, &along_axis<kRfft>>(),
    computing_entry<kAlongAxis<kIrfft>, &along_axis<kIrfft>>(),
    computing_entry<kAlongAxis<kHfft>, &along_axis<kHfft>>(),
    computing_entry<kAlongAxis<kIhfft>, &along_axis<kIhfft>>(),
    computing_entry<kAlongAxes<kFftn>, &along_axes<kFftn>>(),
    computing_entry<kAlongAxes<kIfftn>, &along_axes<kIfftn>>(),
    computing_entry<kAlongAxes<kRfftn>, &along_axes<kRfftn>>(),
    computing_entry<kAlongAxes<kIrfftn>, &along_axes<kIrfftn>>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
