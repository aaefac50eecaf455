// Owns the functions that make arrays out of a shape: empty, zeros, ones, full and their _like
// forms; and the table.
#include "creation.hpp"

#include "args.hpp"
#include "errors.hpp"
#include "methods.hpp"
#include "object.hpp"
#include "refarray/core/error.hpp"
#include "refarray/runtime/runtime.hpp"
#include "values.hpp"
#include "words.hpp"

namespace refarray::python {
namespace {

using core::Fault;

/// What the new array shall be. The shape is checked before anything is allocated.
struct Recipe {
  Integers shape;
  core::DType dtype;
  core::Device device;
};

/// The only format without a zero: its code 0 is 2**-127.
void require_zero(const core::DType& dtype) {
  if (dtype.kind != core::Kind::kFloat8_e8m0fnu) return;
  core::fail(Fault::kValue, core::name(dtype), " has no zero; its values are 2**-127 to 2**127");
}

Ref make_plain(const State& state, const Recipe& recipe, bool zeroed) {
  if (zeroed) require_zero(recipe.dtype);
  return make_array(state,
                    runtime::new_array(recipe.dtype, recipe.shape.span(), recipe.device, zeroed));
}

/// `value` is an array of ndim 0, in host memory.
Ref make_filled(const State& state, const Recipe& recipe, const core::ArrayView& value) {
  core::Array out =
      runtime::new_array(recipe.dtype, recipe.shape.span(), recipe.device, /*zeroed=*/false);
  const core::Layout layout = core::broadcast_layout({}, {}, recipe.shape.span());
  copy_elements(out, core::with_layout(value, layout, 0));
  return make_array(state, std::move(out));
}

/// A fill value as an array of ndim 0; of `dtype` unless that is nullptr.
Ref fill_array(const State& state, PyObject* value, PyObject* dtype) {
  Ref out = as_array(state, value, dtype);
  const core::ArrayView view = view_of(out.get());
  if (view.ndim == 0) return out;
  core::fail(Fault::kType, "fill_value must be one number, not an array of shape ",
             core::shape_text(view.extents()));
}

Ref make_ones(const State& state, const Recipe& recipe) {
  const Ref one = fill_array(
      state, Py_True, make_dtype(state, recipe.dtype).get());  // True becomes 1 in every dtype
  return make_filled(state, recipe, view_of(one.get()));
}

Ref make_full(const State& state, Recipe recipe, PyObject* value, PyObject* dtype) {
  const Ref filling = fill_array(state, value, dtype);
  recipe.dtype = view_of(filling.get()).dtype;
  return make_filled(state, recipe, view_of(filling.get()));
}

// --- From a shape.

Recipe recipe_of(const State& state, PyObject* shape, PyObject* dtype, PyObject* device) {
  constexpr core::DType kDefault{core::Kind::kFloat, 64};
  const Recipe out{to_shape(shape), to_dtype_or(state, dtype, kDefault),
                   to_device_or(state, device, core::Device{})};
  core::checked_nbytes(core::checked_size(out.shape.span()), out.dtype);
  return out;
}

Recipe bind_shape(const char* function, const State& state, PyObject* const* args, Py_ssize_t nargs,
                  PyObject* kwnames) {
  const Signature<3> signature{function, {Key::kShape, Key::kDtype, Key::kDevice}, 1, 1, 0};
  const auto [shape, dtype, device] = bind(signature, state, args, nargs, kwnames);
  return recipe_of(state, shape, dtype, device);
}

Ref empty(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  return make_plain(state, bind_shape("empty", state, args, nargs, kwnames), false);
}

Ref zeros(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  return make_plain(state, bind_shape("zeros", state, args, nargs, kwnames), true);
}

Ref ones(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  return make_ones(state, bind_shape("ones", state, args, nargs, kwnames));
}

Ref full(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static constexpr Signature<4> kSignature{
      "full", {Key::kShape, Key::kFillValue, Key::kDtype, Key::kDevice}, 2, 2, 0};
  const State& state = State::of_module(module);
  const auto [shape, value, dtype, device] = bind(kSignature, state, args, nargs, kwnames);
  return make_full(state, recipe_of(state, shape, dtype, device), value, dtype);
}

// --- From an array.

Recipe recipe_like(const State& state, PyObject* x, PyObject* dtype, PyObject* device) {
  if (!is_array(state, x))
    core::fail(Fault::kType, "x must be a refarray.Array, not ", type_name(x));
  const core::ArrayView view = view_of(x);
  Recipe out{{}, to_dtype_or(state, dtype, view.dtype), to_device_or(state, device, view.device())};
  for (int i = 0; i < view.ndim; ++i) out.shape.values[out.shape.count++] = view.shape[i];
  return out;
}

Recipe bind_like(const char* function, const State& state, PyObject* const* args, Py_ssize_t nargs,
                 PyObject* kwnames) {
  const Signature<3> signature{function, {Key::kX, Key::kDtype, Key::kDevice}, 1, 1, 1};
  const auto [x, dtype, device] = bind(signature, state, args, nargs, kwnames);
  return recipe_like(state, x, dtype, device);
}

Ref empty_like(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  return make_plain(state, bind_like("empty_like", state, args, nargs, kwnames), false);
}

Ref zeros_like(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  return make_plain(state, bind_like("zeros_like", state, args, nargs, kwnames), true);
}

Ref ones_like(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  return make_ones(state, bind_like("ones_like", state, args, nargs, kwnames));
}

Ref full_like(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static constexpr Signature<4> kSignature{
      "full_like", {Key::kX, Key::kFillValue, Key::kDtype, Key::kDevice}, 2, 2, 1};
  const State& state = State::of_module(module);
  const auto [x, value, dtype, device] = bind(kSignature, state, args, nargs, kwnames);
  const Recipe recipe = recipe_like(state, x, dtype, device);
  return make_full(state, recipe, value, make_dtype(state, recipe.dtype).get());
}

constexpr int kFlags = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

PyMethodDef kCreationFunctions[] = {
    {"asarray", method<asarray>(), kFlags, kAsarrayDoc},
    {"arange", method<arange>(), kFlags, kArangeDoc},
    {"empty", method<empty>(), kFlags,
     "empty($module, shape, *, dtype=None, device=None)\n--\n\n"
     "A new row-major array whose elements are whatever the memory holds (array API 2025.12, "
     "empty).\n\n"
     "shape: an integer, or a sequence of at most 64 integers >= 0.\n"
     "dtype: float64 when None. device: the CPU when None.\n"
     "The array owns its memory, which begins on a multiple of 256 bytes. Raises ValueError for a "
     "negative extent or\n"
     "too many axes, OverflowError when the size does not fit 63 bits, MemoryError when there is "
     "no such memory,\n"
     "BufferError for a device that cannot be used."},
    {"zeros", method<zeros>(), kFlags,
     "zeros($module, shape, *, dtype=None, device=None)\n--\n\n"
     "A new row-major array of zeros (array API 2025.12, zeros).\n\n"
     "Parameters and errors are those of empty; ValueError also for float8_e8m0fnu, which has no "
     "zero."},
    {"ones", method<ones>(), kFlags,
     "ones($module, shape, *, dtype=None, device=None)\n--\n\n"
     "A new row-major array of ones, True for bool (array API 2025.12, ones).\n\n"
     "Parameters and errors are those of empty."},
    {"full", method<full>(), kFlags,
     "full($module, shape, fill_value, *, dtype=None, device=None)\n--\n\n"
     "A new row-major array whose elements all are fill_value (array API 2025.12, full).\n\n"
     "fill_value: a number, or an array of ndim 0; for a dtype with lanes, one number or a "
     "sequence of them.\n"
     "dtype: None is bool, int64, float64 or complex128, by the type of fill_value; or an array's "
     "own dtype.\n"
     "Parameters and errors are else those of empty. OverflowError for an int that the dtype "
     "cannot hold, TypeError\n"
     "for a number of a kind above the dtype's."},
    {"empty_like", method<empty_like>(), kFlags,
     "empty_like($module, x, /, *, dtype=None, device=None)\n--\n\n"
     "empty() with the shape of the array x, and its dtype and device when None (array API "
     "2025.12, empty_like).\n\n"
     "The result is row-major and writable whatever x is. Errors are those of empty; TypeError "
     "when x is no Array."},
    {"zeros_like", method<zeros_like>(), kFlags,
     "zeros_like($module, x, /, *, dtype=None, device=None)\n--\n\n"
     "zeros() with the shape of the array x, and its dtype and device when None (array API "
     "2025.12, zeros_like).\n\n"
     "The result is row-major and writable whatever x is. Errors are those of zeros; TypeError "
     "when x is no Array."},
    {"ones_like", method<ones_like>(), kFlags,
     "ones_like($module, x, /, *, dtype=None, device=None)\n--\n\n"
     "ones() with the shape of the array x, and its dtype and device when None (array API 2025.12, "
     "ones_like).\n\n"
     "The result is row-major and writable whatever x is. Errors are those of ones; TypeError when "
     "x is no Array."},
    {"full_like", method<full_like>(), kFlags,
     "full_like($module, x, /, fill_value, *, dtype=None, device=None)\n--\n\n"
     "full() with the shape of the array x, and its dtype and device when None (array API 2025.12, "
     "full_like).\n\n"
     "The result is row-major and writable whatever x is. Errors are those of full; TypeError when "
     "x is no Array."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::python
