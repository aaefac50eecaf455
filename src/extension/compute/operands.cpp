// Implements operands: which objects and dtypes a computation takes, and their promotion.
#include "extension/compute/operands.hpp"

#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/copy/copying.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/modes/namespace_module.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr bool contains(core::DtypeSet set, int row) noexcept { return (set >> row & 1) != 0; }

const char* kind_name(NumberKind kind) noexcept {
  constexpr const char* kNames[] = {"bool", "int", "float", "complex"};
  return kNames[static_cast<int>(kind)];
}

/// The dtypes of the standard's table for Python numbers of a kind.
core::DtypeSet dtypes_beside(NumberKind kind) noexcept {
  using namespace core::dtype_sets;
  switch (kind) {
    case NumberKind::kBool:
      return kBool;
    case NumberKind::kInt:
      return kNumeric;
    default:
      return kFloating;
  }
}

/// complex64 for up to 32 bits, complex128 for float64.
int complex_row(int real) noexcept {
  const unsigned bits = core::kScalars[static_cast<std::size_t>(real)].bits > 32 ? 128 : 64;
  return core::scalar_index(static_cast<unsigned>(core::Kind::kComplex), bits);
}

}  // namespace

void require_computable_memory(const core::ArrayView& array, const char* function, bool writes) {
  const core::Device device = array.device();
  if (device == core::Device{}) [[likely]]
    return;
  if (!device.is_host()) {
    raise(PyExc_NotImplementedError,
          "%s() has no kernel for %s yet; x.to_device(\"cpu\") makes a copy that it takes",
          function, core::name(device).c_str());
  }
  require_host(array, function, writes);
}

int computable_row(const core::DType& dtype, const char* function, core::DtypeSet accepts) {
  const int row = core::computable_index(dtype);
  if (row >= 0 && contains(accepts, row)) [[likely]]
    return row;
  core::fail(Fault::kType, function, "() takes arrays of ", core::name(accepts), " dtypes, not ",
             core::name(dtype), "; astype() converts");
}

core::ArrayView computable_view(const State& state, PyObject* x, const char* function,
                                core::DtypeSet accepts) {
  const core::ArrayView array = to_view(state, x, function);
  computable_row(array.dtype, function, accepts);
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

int Operand::row_beside(int other, const char* function) const {
  const NumberKind kind = number_kind(number_.get());
  if (!contains(dtypes_beside(kind), other)) {
    core::fail(Fault::kType, function, "(): a Python ", kind_name(kind), " beside an array of ",
               core::kScalars[static_cast<std::size_t>(other)].name,
               " has no common dtype in the standard; use astype()");
  }
  const bool becomes_complex =
      kind == NumberKind::kComplex && contains(core::dtype_sets::kRealFloating, other);
  return becomes_complex ? complex_row(other) : other;
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

Ref not_implemented(const State& state, const char* function, PyObject* object, const char* takes) {
  // A sequence would repeat itself as often as an integer array of ndim 0 says.
  if (exports_memory(state, object) || (state.modes.strict && PySequence_Check(object) != 0))
    fail_operand(function, object, takes);
  return Ref::borrow(Py_NotImplemented);
}

int promote_operands(Operand& x1, Operand& x2, const char* function) {
  const auto row_of = [function](const Operand& x) {
    return computable_row(x.view().dtype, function, core::dtype_sets::kAll);
  };
  if (x1.is_array() && x2.is_array()) {
    const int a = row_of(x1);
    const int b = row_of(x2);
    const int common = core::promote(a, b);
    if (common >= 0) [[likely]]
      return common;
    core::fail(Fault::kType, function, "(): ", core::name(x1.view().dtype), " and ",
               core::name(x2.view().dtype), " have no common dtype in the standard; use astype()");
  }
  Operand& number = x1.is_number() ? x1 : x2;
  const Operand& array = x1.is_number() ? x2 : x1;
  const int row = number.row_beside(row_of(array), function);
  number.convert_number(core::scalar_dtype(row));
  return row;
}

}  // namespace refarray::extension
