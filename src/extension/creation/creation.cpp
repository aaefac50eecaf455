// The array API's creation functions: empty, zeros, ones, full, their _like forms, eye, tril and
// triu, and the table.
#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/triangle.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/creation/asarray.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr FunctionRow kEmpty{
    "empty",
    "shape, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new row-major array with uninitialized elements.

shape: an integer, or a sequence of at most 64 integers >= 0.
dtype: None is float64.
device: None is the CPU.

The memory is aligned to 256 bytes. Raises ValueError for a negative extent or
too many axes, OverflowError if the number of bytes does not fit 63 bits,
MemoryError, and BufferError for a device that cannot be used.)doc",
};

constexpr FunctionRow kZeros{
    "zeros",
    "shape, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new row-major array of zeros.

Parameters and errors are those of empty(). Raises ValueError also for
float8_e8m0fnu, which cannot represent zero.)doc",
};

constexpr FunctionRow kOnes{
    "ones",
    "shape, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new row-major array of ones; True for bool.

Parameters and errors are those of empty().)doc",
};

constexpr FunctionRow kFull{
    "full",
    "shape, fill_value, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new row-major array in which every element is fill_value.

fill_value: a number or an array of ndim 0; for a vector dtype, one number or a
    sequence with a number for each lane.
dtype: None is the dtype of an array, and bool, int64, float64 or complex128 for
    a Python number of that kind.

The other parameters and errors are those of empty(). Raises also OverflowError
for an int that dtype cannot represent, and TypeError for a number of a kind
above that of dtype.)doc",
};

constexpr FunctionRow kEmptyLike{
    "empty_like",
    "x, /, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new array with the shape of x and uninitialized elements.

dtype, device: None is that of x. The result is row-major and writable.

Errors are those of empty(); raises TypeError if x is not an Array.)doc",
};

constexpr FunctionRow kZerosLike{
    "zeros_like",
    "x, /, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new array of zeros with the shape of x.

dtype, device: None is that of x. The result is row-major and writable.

Errors are those of zeros(); raises TypeError if x is not an Array.)doc",
};

constexpr FunctionRow kOnesLike{
    "ones_like",
    "x, /, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new array of ones with the shape of x.

dtype, device: None is that of x. The result is row-major and writable.

Errors are those of ones(); raises TypeError if x is not an Array.)doc",
};

constexpr FunctionRow kFullLike{
    "full_like",
    "x, /, fill_value, *, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a new array with the shape of x in which every element is fill_value.

dtype, device: None is that of x. The result is row-major and writable.

Errors are those of full(); raises TypeError if x is not an Array.)doc",
};

constexpr FunctionRow kEye{
    "eye",
    "n_rows, n_cols=None, /, *, k=0, dtype=None, device=None",
    Category::kCreation,
    2021,
    R"doc(Return a matrix with ones on diagonal k and zeros elsewhere.

n_cols: None means as many as n_rows.
k: positive for a diagonal above the main one, negative for one below it.
dtype: None means float64.

Raises ValueError for negative numbers, and for float8_e8m0fnu, which has no zero.)doc",
};

constexpr FunctionRow kTril{
    "tril",
    "x, /, *, k=0",
    Category::kCreation,
    2021,
    R"doc(Return a copy of matrices with zeros above diagonal k.

x: an array of ndim 2 or more; its last two axes are those of the matrices.

Raises ValueError for fewer axes, TypeError for elements smaller than a byte, and
NotImplementedError on a device.)doc",
};

constexpr FunctionRow kTriu{
    "triu",
    "x, /, *, k=0",
    Category::kCreation,
    2021,
    R"doc(Return a copy of matrices with zeros below diagonal k.

x: an array of ndim 2 or more; its last two axes are those of the matrices.

Raises ValueError for fewer axes, TypeError for elements smaller than a byte, and
NotImplementedError on a device.)doc",
};

/// Shape, dtype and device of the array to create. The shape is checked before any allocation.
struct ArraySpec {
  Integers shape;
  core::DType dtype;
  core::Device device;
};

/// Reads an ArraySpec from the arguments: `first` is the shape, or the array x of the _like forms;
/// `dtype` and `device` may be nullptr.
using MakeSpec = ArraySpec (*)(const State& state, PyObject* first, PyObject* dtype,
                               PyObject* device);

ArraySpec from_shape(const State& state, PyObject* shape, PyObject* dtype, PyObject* device) {
  constexpr core::DType kDefault{core::Kind::kFloat, 64};
  const ArraySpec out{to_shape(shape), to_dtype_or(state, dtype, kDefault),
                      to_device_or(state, device, core::Device{})};
  core::checked_nbytes(core::checked_size(out.shape.span()), out.dtype);
  return out;
}

ArraySpec from_array(const State& state, PyObject* x, PyObject* dtype, PyObject* device) {
  if (!is_array(state, x)) {
    refuse_other_namespace(state, x);
    core::fail(Fault::kType, "x must be a refarray.Array, not ", type_name(x));
  }
  const core::ArrayView view = view_of(x);
  ArraySpec out{
      {}, to_dtype_or(state, dtype, view.dtype), to_device_or(state, device, view.device())};
  for (int i = 0; i < view.ndim; ++i) out.shape.values[out.shape.count++] = view.shape[i];
  return out;
}

// --- The elements.

using Create = Ref (*)(State& state, const ArraySpec& spec);

Ref uninitialized(State& state, const ArraySpec& spec) {
  return make_array(state, allocate_on(spec.device, spec.dtype, spec.shape.span(),
                                       /*zeroed=*/false));
}

void refuse_without_zero(const core::DType& dtype) {
  if (dtype.kind != core::Kind::kFloat8_e8m0fnu) return;  // its bit pattern 0 is 2**-127
  core::fail(Fault::kValue, core::name(dtype), " has no zero; its smallest value is 2**-127");
}

Ref zeros(State& state, const ArraySpec& spec) {
  refuse_without_zero(spec.dtype);
  return make_array(state, allocate_on(spec.device, spec.dtype, spec.shape.span(),
                                       /*zeroed=*/true));
}

/// `value` has ndim 0; its dtype is the result's.
Ref filled(State& state, const ArraySpec& spec, const core::ArrayView& value) {
  const core::Layout layout = core::broadcast_layout({}, {}, spec.shape.span());
  return make_array(state,
                    working_copy(core::with_layout(value, layout, 0), value.dtype, spec.device));
}

Ref ones(State& state, const ArraySpec& spec) {  // True converts to 1 in every dtype
  return filled(state, spec, array_from_nested(state, Py_True, &spec.dtype));
}

// --- The functions: each combines a row, a MakeSpec and a Create.

template <const FunctionRow& kRow, MakeSpec kMakeSpec, Create kCreate>
Ref create(State& state, const Given<kRow>& given) {
  const auto [first, dtype, device] = given;
  return kCreate(state, kMakeSpec(state, first, dtype, device));
}

/// `kInfers`: without dtype=, the dtype is that of the fill value.
template <const FunctionRow& kRow, MakeSpec kMakeSpec, bool kInfers>
Ref create_full(State& state, const Given<kRow>& given) {
  const auto [first, fill_value, dtype, device] = given;
  const ArraySpec spec = kMakeSpec(state, first, dtype, device);
  if (state.modes.strict && !plain_number(fill_value)) {
    core::fail(Fault::kType, "fill_value must be a Python number, not ", type_name(fill_value),
               ": this namespace is strict");
  }
  const bool infers = kInfers && !is_given(dtype);
  const Ref value = as_array(state, fill_value, infers ? nullptr : &spec.dtype);
  const core::ArrayView view = view_of(value.get());
  if (view.ndim == 0) return filled(state, spec, view);
  core::fail(Fault::kType, "fill_value must be one number, not an array of shape ",
             core::shape_text(view.extents()));
}

// --- Matrices.

std::int64_t to_extent(PyObject* argument, const char* what) {
  const std::int64_t out = to_int64(argument, what);
  if (out < 0) core::fail(Fault::kValue, what, " is ", out, "; it must be 0 or more");
  return out;
}

/// The number of a diagonal; 0 if not given. Integers outside int64 become its limits, for no
/// matrix has a diagonal there.
std::int64_t to_diagonal(PyObject* k) {
  if (k == nullptr) return 0;
  if (!PyIndex_Check(k)) return to_int64(k, "k");  // throws TypeError
  PyObject* const no_overflow_error = nullptr;
  const Py_ssize_t out = calling<PyNumber_AsSsize_t>(k, no_overflow_error);
  if (out == -1 && PyErr_Occurred() != nullptr) throw ErrorSet{};
  return out;
}

/// The diagonal `k` of a row-major matrix, as a view.
core::Array diagonal(const core::Array& matrix, std::int64_t k) {
  const std::int64_t rows = matrix.layout.shape[0];
  const std::int64_t columns = matrix.layout.shape[1];
  k = std::clamp(k, -rows, columns);
  core::Layout layout;
  layout.push(k < 0 ? std::min(rows + k, columns) : std::min(rows, columns - k), columns + 1);
  return core::with_layout(matrix, layout, k < 0 ? -k * columns : k);
}

Ref eye(State& state, const Given<kEye>& given) {
  const auto [n_rows, n_cols, k, dtype_argument, device] = given;
  const std::int64_t rows = to_extent(n_rows, "n_rows");
  const std::int64_t shape[] = {rows, is_given(n_cols) ? to_extent(n_cols, "n_cols") : rows};
  const std::int64_t offset = to_diagonal(k);
  const core::DType dtype = to_dtype_or(state, dtype_argument, core::DType{core::Kind::kFloat, 64});
  refuse_without_zero(dtype);
  core::checked_nbytes(core::checked_size(shape), dtype);
  Unfinished out(allocate_on(to_device_or(state, device, core::Device{}), dtype, shape,
                             /*zeroed=*/true));
  const core::Array ones = diagonal(out.array(), offset);
  const core::Array one = array_from_nested(state, Py_True, &dtype);  // 1 in every dtype
  move_elements(ones,
                core::with_layout(one, core::broadcast_layout({}, {}, ones.layout.extents()), 0));
  return make_array(state, out.finish());
}

Ref triangle(const State& state, PyObject* x, PyObject* k_argument, const char* function,
             bool is_lower) {
  const core::ArrayView array = to_view(state, x, function);
  const std::int64_t k = to_diagonal(k_argument);
  if (array.ndim < 2)
    core::fail(Fault::kValue, function, "(): x has ndim ", array.ndim, "; it must be 2 or more");
  refuse_without_zero(array.dtype);
  core::check_byte_sized(array.dtype, function);
  require_computable_memory(array, function);
  core::Array out = working_copy(array, array.dtype);
  run_interruptibly(array.nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::clear_triangle(out, k, !is_lower, interrupt);
  });
  return make_array(state, std::move(out));
}

Ref tril(const State& state, const Given<kTril>& given) {
  const auto [x, k] = given;
  return triangle(state, x, k, kTril.name, true);
}

Ref triu(const State& state, const Given<kTriu>& given) {
  const auto [x, k] = given;
  return triangle(state, x, k, kTriu.name, false);
}

}  // namespace

PyMethodDef kCreationFunctions[] = {
    entry<kAsarray, &asarray>(),
    entry<kEmpty, &create<kEmpty, from_shape, uninitialized>>(),
    entry<kZeros, &create<kZeros, from_shape, zeros>>(),
    entry<kOnes, &create<kOnes, from_shape, ones>>(),
    entry<kFull, &create_full<kFull, from_shape, true>>(),
    entry<kEmptyLike, &create<kEmptyLike, from_array, uninitialized>>(),
    entry<kZerosLike, &create<kZerosLike, from_array, zeros>>(),
    entry<kOnesLike, &create<kOnesLike, from_array, ones>>(),
    entry<kFullLike, &create_full<kFullLike, from_array, false>>(),
    entry<kEye, &eye>(),
    computing_entry<kTril, &tril>(),
    computing_entry<kTriu, &triu>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
