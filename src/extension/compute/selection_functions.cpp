// Implements where() and clip().
#include <array>

#include "compute/ops/elementwise.hpp"
#include "core/error.hpp"
#include "extension/capi/gil.hpp"
#include "extension/compute/elementwise_functions.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr FunctionRow kWhere{
    "where",
    "condition, x1, x2, /",
    Category::kSearching,
    2021,
    R"doc(Elements of x1 where the condition is True, and of x2 where it is False.

condition is an array of bool; x1 and x2 are arrays of any dtypes that promote to a common
one, or one of them a Python number. All three broadcast. Returns a new array of the common
dtype. Raises TypeError for other dtypes, ValueError if the shapes do not broadcast.)doc",
};

constexpr FunctionRow kClip{
    "clip",
    "x, /, min=None, max=None",
    Category::kElementwise,
    2023,
    R"doc(Each element of x, but not less than min and not more than max.

x is an array of a real-valued dtype; min and max are Python numbers, arrays of the same
dtype, or None for no limit; all three broadcast. Where min is greater than max the result is
min. NaN in any of the three gives NaN. Returns a new array of x's dtype. Raises TypeError for
other dtypes, ValueError if the shapes do not broadcast.)doc",
};

Ref where(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 3)
    core::fail(Fault::kType, "where() takes 3 positional arguments; ", nargs, " were given");
  const State& state = State::of_module(module);
  const core::ArrayView condition =
      computable_view(state, args[0], "where", core::dtype_sets::kBool);
  Operand x1(state, args[1]), x2(state, args[2]);
  require_value(x1, args[1], "where", "x1");
  require_value(x2, args[2], "where", "x2");
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

Ref clip(const State& state, const Given<kClip>& given) {
  const auto [x, min, max] = given;
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
    computing_entry<kWhere, &where>(),
    computing_entry<kClip, &clip>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
