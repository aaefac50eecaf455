// Computes elementwise functions, of the module and for operators.
#include "extension/compute/elementwise_functions.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "compute/ops/elementwise.hpp"
#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "extension/capi/gil.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/modes/poisoned_views.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/function_row.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Elementwise;
using core::Fault;

/// `array` without gaps, in the order that result_layout() chooses.
core::Array new_result(const core::DType& dtype, core::Extents shape,
                       std::span<const core::ArrayView> inputs) {
  core::Array out = core::new_array(dtype, shape, /*zeroed=*/false);
  if (shape.size() > 1) out.layout = core::result_layout(shape, inputs);
  return out;
}

void run(const core::ElementwiseKernel& kernel, const core::ArrayView& out,
         std::span<const core::ArrayView> inputs) {
  const std::int64_t bytes = out.size() * kernel.in[0].itemsize();
  run_interruptibly(bytes, [&](const core::InterruptCheck& interrupt) {
    return core::run_elementwise(kernel, out, inputs, interrupt);
  });
}

void require_accepted(const core::ElementwiseRow& row, core::ScalarType dtype) {
  if (core::contains(row.accepts, dtype)) [[likely]]
    return;
  core::fail(Fault::kType, row.name, "() takes arrays of ", core::name(row.accepts),
             " dtypes, not ", core::info_of(dtype).name, "; astype() converts");
}

/// Whether the interpreter repeats the object for `x * 2`: str, bytes, list, tuple and their like.
bool repeats_itself(PyObject* object) noexcept {
  PyTypeObject* const type = Py_TYPE(object);
  return PyType_GetSlot(type, Py_sq_repeat) != nullptr &&
         PyType_GetSlot(type, Py_nb_multiply) == nullptr;
}

/// not_implemented(), but strict namespaces raise for == and != too: the interpreter would answer
/// by identity, where the standard has no answer. Likewise products with sequences raise, which
/// would be repeated as often as an integer array of ndim 0 says.
[[gnu::cold]] Ref not_implemented(const State& state, const core::ElementwiseRow& row,
                                  Elementwise operation, PyObject* object) {
  const bool compares = operation == Elementwise::kEqual || operation == Elementwise::kNotEqual;
  const bool repeats = operation == Elementwise::kMultiply && repeats_itself(object);
  if (repeats || (state.modes.strict && compares)) fail_operand(row.name, object);
  return not_implemented(state, row.name, object);
}

/// Two operands, converted to the dtype that they promote to.
struct Pair {
  Pair(const State& state, PyObject* a, PyObject* b) : x1(state, a), x2(state, b) {}

  /// Throws kType if the function does not take the operands.
  core::ScalarType promote(const core::ElementwiseRow& row) {
    if (!x1.is_array() && !x2.is_array()) {
      core::fail(Fault::kType, row.name,
                 "() takes at least one array; both arguments are Python numbers");
    }
    for (const Operand* x : {&x1, &x2})
      if (x->is_array()) require_computable_memory(x->view(), row.name);
    const core::ScalarType dtype = promote_operands(x1, x2, row.name);
    require_accepted(row, dtype);
    return dtype;
  }

  Operand x1;
  Operand x2;
};

/// `x2` as it is before the operation writes to `x1`: a copy if they overlap and are not the same.
core::ArrayView unaffected(const core::ArrayView& x2, const core::ArrayView& x1,
                           core::Array& copy) {
  const bool is_same = x1.data == x2.data && x1.dtype == x2.dtype &&
                       std::ranges::equal(x1.extents(), x2.extents()) &&
                       std::ranges::equal(x1.stride_span(), x2.stride_span());
  if (is_same || !core::may_overlap(x1, x2)) return x2;
  copy = working_copy(x2, x2.dtype);
  return copy;
}

// --- Values for which the standard defines no result: strict namespaces refuse them.

bool is_of_integers(const State& state, PyObject* object) {
  if (!is_array(state, object)) return PyLong_Check(object) && !PyBool_Check(object);
  const core::Kind kind = view_of(object).dtype.kind;
  return kind == core::Kind::kInt || kind == core::Kind::kUInt;
}

/// Whether x1 < x2 for an element of arrays, or for numbers.
bool is_any_less(const State& state, PyObject* x1, PyObject* x2) {
  if (!is_array(state, x1) && !is_array(state, x2))
    return check(PyObject_RichCompareBool(plain_number(x1).get(), plain_number(x2).get(), Py_LT));
  const Ref less = compute_binary(state, core::Elementwise::kLess, x1, x2);
  const core::ArrayView found = view_of(less.get());  // without gaps: it is new
  return std::memchr(found.data, 1, static_cast<std::size_t>(found.size())) != nullptr;
}

/// Throws kValue if the standard defines no result for integers x1 and the values of x2: powers
/// with negative exponents, shifts by negative numbers. What has no result for other reasons is
/// left to the function.
void require_defined_result(const State& state, core::Elementwise operation, PyObject* x1,
                            PyObject* x2) {
  const bool is_power = operation == core::Elementwise::kPow;
  if (!is_power && operation != core::Elementwise::kBitwiseLeftShift &&
      operation != core::Elementwise::kBitwiseRightShift)
    return;
  if (!is_of_integers(state, x1) || !is_of_integers(state, x2)) return;
  if (is_array(state, x2) && view_of(x2).dtype.kind == core::Kind::kUInt) return;
  const Ref zero = check(PyLong_FromLong(0));
  if (!is_any_less(state, x2, zero.get())) return;
  core::fail(Fault::kValue, core::row_of(operation).name, "(): x2 has a negative ",
             is_power ? "exponent, and the powers are of integers" : "number of bits",
             "; the standard leaves the result open, and this namespace is strict");
}

}  // namespace

void require_ordered_limits(const State& state, PyObject* min, PyObject* max) {
  if (!is_any_less(state, max, min)) return;
  core::fail(Fault::kValue,
             "clip(): min is above max; the standard leaves the result open, and this namespace is "
             "strict");
}

// --- The computation: promotion, broadcasting, the result's memory, and the kernel.

Ref compute_unary(const State& state, Elementwise operation, PyObject* x) {
  const core::ElementwiseRow& row = core::row_of(operation);
  const core::ArrayView array = computable_view(state, x, row.name, row.accepts);
  const core::ScalarType dtype = core::computable_scalar(array.dtype);
  const core::ElementwiseKernel kernel = core::find_kernel(operation, dtype);
  core::Array out = new_result(core::result_dtype(row.result, dtype), array.extents(), {&array, 1});
  run(kernel, out, {&array, 1});
  return make_array(state, std::move(out));
}

Ref compute_binary(const State& state, Elementwise operation, PyObject* x1, PyObject* x2,
                   bool for_operator) {
  const core::ElementwiseRow& row = core::row_of(operation);
  Pair pair(state, x1, x2);
  for (const bool second : {false, true}) {
    if (second ? pair.x2 : pair.x1) continue;
    if (for_operator) return not_implemented(state, row, operation, second ? x2 : x1);
    fail_operand(row.name, second ? x2 : x1);
  }
  if (state.modes.strict) [[unlikely]]
    require_defined_result(state, operation, x1, x2);
  const core::ScalarType dtype = pair.promote(row);
  const std::array inputs{pair.x1.view(), pair.x2.view()};
  const core::Layout shape = core::broadcast_shapes(inputs[0].extents(), inputs[1].extents());
  const core::ElementwiseKernel kernel = core::find_kernel(operation, dtype);
  core::Array out = new_result(core::result_dtype(row.result, dtype), shape.extents(), inputs);
  run(kernel, out, inputs);
  return make_array(state, std::move(out));
}

Ref compute_in_place(const State& state, Elementwise operation, PyObject* x1, PyObject* x2) {
  const core::ElementwiseRow& row = core::row_of(operation);
  Pair pair(state, x1, x2);
  if (!pair.x2) return not_implemented(state, row, operation, x2);
  if (state.modes.strict) [[unlikely]]
    require_defined_result(state, operation, x1, x2);
  const core::ScalarType dtype = pair.promote(row);
  const core::ArrayView& out = pair.x1.view();
  if (!out.writable()) core::fail(Fault::kValue, row.name, "() in place: the array is read-only");
  if (core::scalar_dtype(dtype) != out.dtype) {
    core::fail(Fault::kType, row.name, "() in place: the result would be ",
               core::name(core::scalar_dtype(dtype)), ", which an array of ", core::name(out.dtype),
               " cannot hold");
  }
  const core::Layout shape = core::broadcast_shapes(out.extents(), pair.x2.view().extents());
  if (!std::ranges::equal(shape.extents(), out.extents())) {
    core::fail(Fault::kValue, row.name, "() in place: the result has shape ",
               core::shape_text(shape.extents()), ", the array ", core::shape_text(out.extents()));
  }
  require_computable_memory(out, row.name, /*writes=*/true);
  refuse_other_owners(state, {x1, out, x2}, "an operator in place");
  core::Array copy;
  const std::array inputs{out, unaffected(pair.x2.view(), out, copy)};
  run(core::find_kernel(operation, dtype), out, inputs);
  return Ref::borrow(x1);
}

// --- The functions of the module, one for each row in compute/ops/elementwise_rows.hpp.

namespace {

using core::ElementwiseRow;
using core::kElementwiseRows;

constexpr std::string_view result_text(core::Result rule) noexcept {
  switch (rule) {
    case core::Result::kBoolDtype:
      return "a new array of bool";
    case core::Result::kRealDtype:
      return "a new array of the same dtype, for complex dtypes the real one of their parts";
    default:
      return "a new array of the same dtype";
  }
}

/// Calls `add` for each part of a row's text.
template <class Add>
constexpr void each_part(const ElementwiseRow& row, Add add) {
  const bool is_binary = row.inputs == 2;
  add(row.text);
  add("\n\n");
  add(is_binary ? "x1 and x2 are arrays of " : "x is an array of ");
  add(core::name(row.accepts));
  add(is_binary ? " dtypes, or one of them a Python number. They\n"
                  "broadcast and are promoted to a common dtype. Returns "
                : " dtypes, of any shape. Returns\n");
  add(result_text(row.result));
  add(is_binary
          ? ".\n\nRaises TypeError for other dtypes and for those without a common dtype in the\n"
            "standard, ValueError if the shapes do not broadcast, OverflowError for a number\n"
            "that the dtype cannot hold."
          : ".\n\nRaises TypeError for other dtypes.");
}

template <std::size_t Row>
constexpr FunctionRow kFunction{
    kElementwiseRows[Row].name, kElementwiseRows[Row].inputs == 2 ? "x1, x2, /" : "x, /",
    Category::kElementwise, kElementwiseRows[Row].since,
    kJoined<[](auto add) { each_part(kElementwiseRows[Row], add); }>.data()};

template <std::size_t Row>
Ref unary(PyObject* module, PyObject* x) {
  return compute_unary(State::of_module(module), kElementwiseRows[Row].operation, x);
}

template <std::size_t Row>
Ref binary(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  const ElementwiseRow& row = kElementwiseRows[Row];
  if (nargs != 2) {
    core::fail(core::Fault::kType, row.name, "() takes 2 positional arguments; ", nargs,
               nargs == 1 ? " was given" : " were given");
  }
  const State& state = State::of_module(module);
  return compute_binary(state, row.operation, args[0], args[1]);
}

template <std::size_t Row>
PyMethodDef definition() noexcept {
  if constexpr (kElementwiseRows[Row].inputs == 1)
    return computing_entry<kFunction<Row>, &unary<Row>>();
  else
    return computing_entry<kFunction<Row>, &binary<Row>>();
}

constexpr std::size_t kRows = kElementwiseRows.size();

template <std::size_t... Rows>
std::array<PyMethodDef, kRows + 1> definitions(std::index_sequence<Rows...>) {
  return {definition<Rows>()..., PyMethodDef{nullptr, nullptr, 0, nullptr}};
}

}  // namespace

PyMethodDef* elementwise_functions() {
  // Functions keep pointers into it, so it lives for the whole process.
  static std::array<PyMethodDef, kRows + 1> all = definitions(std::make_index_sequence<kRows>());
  return all.data();
}

}  // namespace refarray::extension
