// Implements operands: which objects a computation takes, and their promotion.
#include "extension/compute/operands.hpp"

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/copy/copying.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {

using core::Fault;

core::ArrayView computable_view(const State& state, PyObject* x, const char* function,
                                core::DtypeSet accepts) {
  const core::ArrayView array = to_view(state, x, function);
  require_computable(array.dtype, function, accepts);
  require_computable_memory(array, function);
  return array;
}

Operand::Operand(const State& state, PyObject* object)
    : is_array_(extension::is_array(state, object)) {
  if (is_array_) {
    view_ = view_of(object);
    return;
  }
  number_ = plain_number(object);
  if (number_) return;
  refuse_other_namespace(state, object);
  number_ = to_exact_number(state, object);
}

void Operand::convert_number(const core::DType& dtype) {
  write_scalar(dtype, element_, 0, number_.get());
  view_.data = element_;
  view_.dtype = dtype;
}

void fail_operand(const char* function, PyObject* object, const char* takes) {
  core::fail(Fault::kType, function, "() takes ", takes, ", not ", type_name(object),
             "; asarray() and from_dlpack() make arrays");
}

void require_value(const Operand& operand, PyObject* object, const char* function,
                   const char* name) {
  if (!operand) {
    core::fail(Fault::kType, function, "(): ", name, " must be an array or a Python number, not ",
               type_name(object), "; asarray() makes an array");
  }
  if (operand.is_array()) require_computable_memory(operand.view(), function);
}

core::ArrayView converted(const core::ArrayView& array, const core::DType& dtype,
                          core::Array& owner) {
  if (array.dtype == dtype) return array;
  owner = working_copy(array, dtype);
  return owner;
}

Ref not_implemented(const State& state, const char* function, PyObject* object, const char* takes) {
  // A sequence would repeat itself as often as an integer array of ndim 0 says.
  if (exports_memory(state, object) || (state.modes.strict && PySequence_Check(object) != 0))
    fail_operand(function, object, takes);
  return Ref::borrow(Py_NotImplemented);
}

core::ScalarType promote_operands(Operand& x1, Operand& x2, const char* function) {
  const auto type_of = [function](const Operand& x) {
    return require_computable(x.view().dtype, function, core::dtype_sets::kAll);
  };
  if (x1.is_array() && x2.is_array()) {
    const core::ScalarType a = type_of(x1);
    const core::ScalarType b = type_of(x2);
    const core::ScalarType common = core::promote(a, b);
    if (common != core::ScalarType::kNone) [[likely]]
      return common;
    core::fail(Fault::kType, function, "(): ", core::name(x1.view().dtype), " and ",
               core::name(x2.view().dtype), " have no common dtype in the standard; use astype()");
  }
  Operand& number = x1.is_number() ? x1 : x2;
  const Operand& array = x1.is_number() ? x2 : x1;
  const core::ScalarType type = number.type_beside(type_of(array), function);
  number.convert_number(core::scalar_dtype(type));
  return type;
}

}  // namespace refarray::extension
