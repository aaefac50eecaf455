// Owns the functions that make arrays out of a shape: empty, zeros, ones, full and their _like
// forms; and the table.
#include "extension/creation/creation.hpp"

#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// What the new array shall be. The shape is checked before anything is allocated.
struct Recipe {
  Integers shape;
  core::DType dtype;
  core::Device device;
};

/// How a function of either family comes to its recipe: from the argument `first` and two that may
/// be nullptr.
using MakeRecipe = Recipe (*)(const State& state, PyObject* first, PyObject* dtype,
                              PyObject* device);

Recipe from_shape(const State& state, PyObject* shape, PyObject* dtype, PyObject* device) {
  constexpr core::DType kDefault{core::Kind::kFloat, 64};
  const Recipe out{to_shape(shape), to_dtype_or(state, dtype, kDefault),
                   to_device_or(state, device, core::Device{})};
  core::checked_nbytes(core::checked_size(out.shape.span()), out.dtype);
  return out;
}

Recipe from_array(const State& state, PyObject* x, PyObject* dtype, PyObject* device) {
  if (!is_array(state, x))
    core::fail(Fault::kType, "x must be a refarray.Array, not ", type_name(x));
  const core::ArrayView view = view_of(x);
  Recipe out{{}, to_dtype_or(state, dtype, view.dtype), to_device_or(state, device, view.device())};
  for (int i = 0; i < view.ndim; ++i) out.shape.values[out.shape.count++] = view.shape[i];
  return out;
}

// --- What the elements are.

using Make = Ref (*)(State& state, const Recipe& recipe);

Ref with_any(State& state, const Recipe& recipe) {
  return make_array(state, allocate_on(recipe.device, recipe.dtype, recipe.shape.span(),
                                       /*zeroed=*/false));
}

Ref with_zeros(State& state, const Recipe& recipe) {
  if (recipe.dtype.kind == core::Kind::kFloat8_e8m0fnu) {  // its code 0 is 2**-127
    core::fail(Fault::kValue, core::name(recipe.dtype),
               " has no zero; its values are 2**-127 to 2**127");
  }
  return make_array(state, allocate_on(recipe.device, recipe.dtype, recipe.shape.span(),
                                       /*zeroed=*/true));
}

/// `value` is an array of ndim 0 in host memory; its dtype is the result's.
Ref with_all(State& state, const Recipe& recipe, const core::ArrayView& value) {
  const core::Layout layout = core::broadcast_layout({}, {}, recipe.shape.span());
  return make_array(state,
                    copy_to_new(core::with_layout(value, layout, 0), value.dtype, recipe.device));
}

Ref with_ones(State& state, const Recipe& recipe) {  // True becomes 1 in every dtype
  return with_all(state, recipe, array_of_nested(state, Py_True, &recipe.dtype));
}

// --- The functions: each is a signature, a way to a recipe, and what to do with that.

constexpr Signature<3> shape_signature(const char* function) {
  return {function, {Key::kShape, Key::kDtype, Key::kDevice}, 1, 1, 0};
}
constexpr Signature<3> like_signature(const char* function) {
  return {function, {Key::kX, Key::kDtype, Key::kDevice}, 1, 1, 1};
}
constexpr Signature<3> kEmpty = shape_signature("empty");
constexpr Signature<3> kZeros = shape_signature("zeros");
constexpr Signature<3> kOnes = shape_signature("ones");
constexpr Signature<3> kEmptyLike = like_signature("empty_like");
constexpr Signature<3> kZerosLike = like_signature("zeros_like");
constexpr Signature<3> kOnesLike = like_signature("ones_like");
constexpr Signature<4> kFull{
    "full", {Key::kShape, Key::kFillValue, Key::kDtype, Key::kDevice}, 2, 2, 0};
constexpr Signature<4> kFullLike{
    "full_like", {Key::kX, Key::kFillValue, Key::kDtype, Key::kDevice}, 2, 2, 1};

template <const Signature<3>& kSignature, MakeRecipe kRecipe, Make kMake>
Ref create(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& state = State::of_module(module);
  const auto [first, dtype, device] = bind(kSignature, state, args, nargs, kwnames);
  return kMake(state, kRecipe(state, first, dtype, device));
}

/// `kInfers`: the dtype is that of the fill value unless it is given.
template <const Signature<4>& kSignature, MakeRecipe kRecipe, bool kInfers>
Ref create_full(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& state = State::of_module(module);
  const auto [first, fill_value, dtype, device] = bind(kSignature, state, args, nargs, kwnames);
  const Recipe recipe = kRecipe(state, first, dtype, device);
  const bool infers = kInfers && !is_given(dtype);
  const Ref value = as_array(state, fill_value, infers ? nullptr : &recipe.dtype);
  const core::ArrayView view = view_of(value.get());
  if (view.ndim == 0) return with_all(state, recipe, view);
  core::fail(Fault::kType, "fill_value must be one number, not an array of shape ",
             core::shape_text(view.extents()));
}

constexpr int kFlags = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

PyMethodDef kCreationFunctions[] = {
    {"asarray", method<asarray>(), kFlags, kAsarrayDoc},
    {"arange", method<arange>(), kFlags, kArangeDoc},
    {"empty", method<&create<kEmpty, from_shape, with_any>>(), kFlags,
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
    {"zeros", method<&create<kZeros, from_shape, with_zeros>>(), kFlags,
     "zeros($module, shape, *, dtype=None, device=None)\n--\n\n"
     "A new row-major array of zeros (array API 2025.12, zeros).\n\n"
     "Parameters and errors are those of empty; ValueError also for float8_e8m0fnu, which has no "
     "zero."},
    {"ones", method<&create<kOnes, from_shape, with_ones>>(), kFlags,
     "ones($module, shape, *, dtype=None, device=None)\n--\n\n"
     "A new row-major array of ones, True for bool (array API 2025.12, ones).\n\n"
     "Parameters and errors are those of empty."},
    {"full", method<&create_full<kFull, from_shape, true>>(), kFlags,
     "full($module, shape, fill_value, *, dtype=None, device=None)\n--\n\n"
     "A new row-major array whose elements all are fill_value (array API 2025.12, full).\n\n"
     "fill_value: a number, or an array of ndim 0; for a dtype with lanes, one number or a "
     "sequence of them.\n"
     "dtype: None is bool, int64, float64 or complex128, by the type of fill_value; or an array's "
     "own dtype.\n"
     "Parameters and errors are else those of empty. OverflowError for an int that the dtype "
     "cannot hold, TypeError\n"
     "for a number of a kind above the dtype's."},
    {"empty_like", method<&create<kEmptyLike, from_array, with_any>>(), kFlags,
     "empty_like($module, x, /, *, dtype=None, device=None)\n--\n\n"
     "empty() with the shape of the array x, and its dtype and device when None (array API "
     "2025.12, empty_like).\n\n"
     "The result is row-major and writable whatever x is. Errors are those of empty; TypeError "
     "when x is no Array."},
    {"zeros_like", method<&create<kZerosLike, from_array, with_zeros>>(), kFlags,
     "zeros_like($module, x, /, *, dtype=None, device=None)\n--\n\n"
     "zeros() with the shape of the array x, and its dtype and device when None (array API "
     "2025.12, zeros_like).\n\n"
     "The result is row-major and writable whatever x is. Errors are those of zeros; TypeError "
     "when x is no Array."},
    {"ones_like", method<&create<kOnesLike, from_array, with_ones>>(), kFlags,
     "ones_like($module, x, /, *, dtype=None, device=None)\n--\n\n"
     "ones() with the shape of the array x, and its dtype and device when None (array API 2025.12, "
     "ones_like).\n\n"
     "The result is row-major and writable whatever x is. Errors are those of ones; TypeError when "
     "x is no Array."},
    {"full_like", method<&create_full<kFullLike, from_array, false>>(), kFlags,
     "full_like($module, x, /, fill_value, *, dtype=None, device=None)\n--\n\n"
     "full() with the shape of the array x, and its dtype and device when None (array API 2025.12, "
     "full_like).\n\n"
     "The result is row-major and writable whatever x is. Errors are those of full; TypeError when "
     "x is no Array."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
