// Computes elementwise functions: promotion, broadcasting, the result's memory, and the kernel.
#include "extension/compute/elementwise_call.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "compute/ops/elementwise.hpp"
#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/signals.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/strict_values.hpp"
#include "extension/copy/copying.hpp"
#include "extension/modes/poisoned_views.hpp"
#include "extension/objects/array_object.hpp"

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

}  // namespace

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

}  // namespace refarray::extension
