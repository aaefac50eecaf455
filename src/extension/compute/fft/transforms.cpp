// The Fourier transforms of the extension fft.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "compute/fft/transform.hpp"
#include "core/error.hpp"
#include "core/promotion.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/capi/signals.hpp"
#include "extension/compute/fft/fourier_rows.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"

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
  bool is_inverse;  // norm="backward" divides by n
};

constexpr Kind kOfFft{kFft.name, false, false, Direction::kForward, false};
constexpr Kind kOfIfft{kIfft.name, false, false, Direction::kBackward, true};
constexpr Kind kOfRfft{kRfft.name, true, false, Direction::kForward, false};
constexpr Kind kOfIrfft{kIrfft.name, false, true, Direction::kBackward, true};
constexpr Kind kOfHfft{kHfft.name, false, true, Direction::kForward, false};
constexpr Kind kOfIhfft{kIhfft.name, true, false, Direction::kBackward, true};
constexpr Kind kOfFftn{kFftn.name, false, false, Direction::kForward, false};
constexpr Kind kOfIfftn{kIfftn.name, false, false, Direction::kBackward, true};
constexpr Kind kOfRfftn{kRfftn.name, true, false, Direction::kForward, false};
constexpr Kind kOfIrfftn{kIrfftn.name, false, true, Direction::kBackward, true};

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

template <const FunctionRow& kRow, const Kind& kKind>
Ref along_axis(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, n_argument, axis_argument, norm] = bind<kRow>(state, args, nargs, kwnames);
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

template <const FunctionRow& kRow, const Kind& kKind>
Ref along_axes(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, s, axes, norm] = bind<kRow>(state, args, nargs, kwnames);
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
    entry<kFft, &along_axis<kFft, kOfFft>>(),
    entry<kIfft, &along_axis<kIfft, kOfIfft>>(),
    entry<kRfft, &along_axis<kRfft, kOfRfft>>(),
    entry<kIrfft, &along_axis<kIrfft, kOfIrfft>>(),
    entry<kHfft, &along_axis<kHfft, kOfHfft>>(),
    entry<kIhfft, &along_axis<kIhfft, kOfIhfft>>(),
    entry<kFftn, &along_axes<kFftn, kOfFftn>>(),
    entry<kIfftn, &along_axes<kIfftn, kOfIfftn>>(),
    entry<kRfftn, &along_axes<kRfftn, kOfRfftn>>(),
    entry<kIrfftn, &along_axes<kIrfftn, kOfIrfftn>>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
