// Implements where() and clip().
#include <array>

#include "compute/ops/elementwise.hpp"
#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/capi/signals.hpp"
#include "extension/compute/elementwise_call.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/selection_rows.hpp"
#include "extension/compute/strict_values.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/objects/array_object.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// An argument of where() that is an array or a number.
void require_value(const Operand& operand, PyObject* object, const char* name) {
  if (!operand) {
    core::fail(Fault::kType, "where(): ", name, " must be an array or a Python number, not ",
               type_name(object), "; asarray() makes an array");
  }
  if (operand.is_array()) require_computable_memory(operand.view(), "where");
}

Ref where(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 3)
    core::fail(Fault::kType, "where() takes 3 positional arguments; ", nargs, " were given");
  const State& state = State::of_module(module);
  const core::ArrayView condition =
      computable_view(state, args[0], "where", core::dtype_sets::kBool);
  Operand x1(state, args[1]), x2(state, args[2]);
  require_value(x1, args[1], "x1");
  require_value(x2, args[2], "x2");
  if (!x1.is_array() && !x2.is_array())
    core::fail(Fault::kType, "where(): x1 or x2 must be an array; both are Python numbers");
  const core::ElementwiseKernel kernel = core::find_where_kernel(promote_operands(x1, x2, "where"));
  const std::array inputs{condition, x1.view(), x2.view()};
  core::Layout shape = core::broadcast_shapes(inputs[1].extents(), inputs[2].extents());
  shape = core::broadcast_shapes(shape.extents(), condition.extents());
  core::Array out = core::new_array(kernel.out, shape.extents(), /*zeroed=*/false);
  if (out.layout.ndim > 1) out.layout = core::result_layout(shape.extents(), inputs);
  run_interruptibly(out.view().nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::run_elementwise(kernel, out, inputs, interrupt);
  });
  return make_array(state, std::move(out));
}

/// A limit of clip(): a Python number, or what was given. Throws kType unless it is a number of a
/// kind that x can hold, or an array of its dtype.
Ref to_limit(const State& state, const core::ArrayView& x, PyObject* limit, const char* name) {
  if (!is_given(limit)) return {};
  const Operand operand(state, limit);
  if (operand.is_number()) {
    const core::ScalarType type = core::computable_scalar(x.dtype);
    if (operand.type_beside(type, kClip.name) == type) return Ref::borrow(operand.number());
    core::fail(Fault::kType, "clip(): ", name, " is a complex number; x is ", core::name(x.dtype));
  }
  if (!operand.is_array()) {
    core::fail(Fault::kType, "clip(): ", name, " must be an array, a Python number or None, not ",
               type_name(limit), "; asarray() makes an array");
  }
  const core::ArrayView array = view_of(limit);
  if (array.dtype != x.dtype) {
    core::fail(Fault::kType, "clip(): ", name, " is ", core::name(array.dtype), ", x is ",
               core::name(x.dtype), "; the dtypes must be equal");
  }
  return Ref::borrow(limit);
}

Ref clip(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, min, max] = bind<kClip>(state, args, nargs, kwnames);
  const core::ArrayView array =
      computable_view(state, x, kClip.name, core::dtype_sets::kRealValued);
  const Ref low = to_limit(state, array, min, "min"), high = to_limit(state, array, max, "max");
  if (state.modes.strict && low && high) require_ordered_limits(state, low.get(), high.get());
  if (!high && !low) return make_array(state, working_copy(array, array.dtype));
  if (!high) return compute_binary(state, core::Elementwise::kMaximum, x, low.get());
  Ref out = compute_binary(state, core::Elementwise::kMinimum, x, high.get());
  if (!low) return out;
  return compute_binary(state, core::Elementwise::kMaximum, out.get(), low.get());
}

}  // namespace

PyMethodDef kSelectionFunctions[] = {
    entry<kWhere, &where>(),
    entry<kClip, &clip>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
