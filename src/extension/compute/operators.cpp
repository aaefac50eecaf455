// The operators of the Array type: each is an elementwise function, but for @.
#include <array>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/compute/elementwise_functions.hpp"
#include "extension/compute/linalg/product_functions.hpp"
#include "extension/compute/operands.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/modes/poisoned_views.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/compute_hooks.hpp"

namespace refarray::extension {
namespace {

using core::Elementwise;
using enum core::Elementwise;

/// The interpreter calls a binary slot of the type of either operand.
const State& state_of(PyObject* x1, PyObject* x2) noexcept {
  return State::of_object(is_any_array(x1) ? x1 : x2);
}

template <Elementwise Operation>
Ref unary(PyObject* x) {
  const State& state = State::of_object(x);
  const auto compute = [&](PyObject* one) { return compute_unary(state, Operation, one); };
  return on_host(state, core::row_of(Operation).name, compute, x);
}

/// The operand of an operator on a device: an array, or the number that the object is; empty for
/// others. Reading a number may run user code, so it comes before arrays are copied.
[[gnu::cold]] Ref read_operand(const State& state, PyObject* object) {
  const Operand operand(state, object);
  if (operand.is_number()) return Ref::borrow(operand.number());
  return operand ? Ref::borrow(object) : Ref();
}

[[gnu::cold, gnu::noinline]] Ref operate_on_device(const State& state, Elementwise operation,
                                                   PyObject* x1, PyObject* x2) {
  const auto compute = [&](PyObject* a, PyObject* b) {
    return compute_binary(state, operation, a, b, /*for_operator=*/true);
  };
  const Ref a = read_operand(state, x1), b = read_operand(state, x2);
  if (!a || !b) return compute(x1, x2);  // refuses the operand, and reads no elements
  return on_host(state, core::row_of(operation).name, compute, a.get(), b.get());
}

Ref operate(const State& state, Elementwise operation, PyObject* x1, PyObject* x2) {
  if (is_on_device(state, x1) || is_on_device(state, x2)) [[unlikely]]
    return operate_on_device(state, operation, x1, x2);
  return compute_binary(state, operation, x1, x2, /*for_operator=*/true);
}

template <Elementwise Operation>
Ref binary(PyObject* x1, PyObject* x2) {
  return operate(state_of(x1, x2), Operation, x1, x2);
}

template <class Compute>
Ref write_in_place(const State& state, const char* function, Compute compute, PyObject* x1,
                   PyObject* x2) {
  Ref operand;
  if (is_on_device(state, x1)) [[unlikely]] {
    operand = read_operand(state, x2);
    if (!operand) return compute(x1, x2);  // refuses it, and writes nothing
    x2 = operand.get();
  }
  if (!state.modes.poison_views) return on_host_in_place(state, function, compute, x1, x2);
  const Ref target = target_in_place(state, x1, x2);
  if (is_on_device(state, target.get()))
    refuse_other_owners(state, {target.get(), view_of(target.get()), x2}, "an operator in place");
  return on_host_in_place(state, function, compute, target.get(), x2);
}

template <Elementwise Operation>
Ref in_place(PyObject* x1, PyObject* x2) {
  const State& state = State::of_object(x1);
  const auto compute = [&](PyObject* to, PyObject* by) {
    return compute_in_place(state, Operation, to, by);
  };
  return write_in_place(state, core::row_of(Operation).name, compute, x1, x2);
}

/// pow(x1, x2, modulus) is for integers of Python only.
Ref power(PyObject* x1, PyObject* x2, PyObject* modulus) {
  if (modulus != Py_None) return Ref::borrow(Py_NotImplemented);
  return binary<kPow>(x1, x2);
}
Ref power_in_place(PyObject* x1, PyObject* x2, PyObject*) { return in_place<kPow>(x1, x2); }

/// The standard has no divmod(). Without a method, NumPy's would convert the array and compute.
Ref divide_with_remainder(PyObject* x1, PyObject* x2) {
  PyObject* const other = is_any_array(x1) ? x2 : x1;
  if (!is_any_array(other) && !exports_memory(state_of(x1, x2), other))
    return Ref::borrow(Py_NotImplemented);
  core::fail(core::Fault::kType, "divmod() takes no arrays; compute x1 // x2 and x1 % x2");
}

Ref matmul(PyObject* x1, PyObject* x2) {
  const State& state = state_of(x1, x2);
  for (PyObject* x : {x1, x2})
    if (!is_any_array(x)) return not_implemented(state, "matmul", x, "arrays");
  return on_host(
      state, "matmul", [&](PyObject* a, PyObject* b) { return compute_matmul(state, a, b); }, x1,
      x2);
}
Ref matmul_in_place(PyObject* x1, PyObject* x2) {
  const State& state = State::of_object(x1);
  if (!is_any_array(x2)) return not_implemented(state, "matmul", x2, "arrays");
  const auto compute = [&](PyObject* to, PyObject* by) {
    return compute_matmul_in_place(state, to, by);
  };
  return write_in_place(state, "matmul", compute, x1, x2);
}

Ref compare(PyObject* x1, PyObject* x2, int operation) {
  constexpr Elementwise kOperations[] = {kLess,     kLessEqual, kEqual,
                                         kNotEqual, kGreater,   kGreaterEqual};
  static_assert(Py_LT == 0 && Py_LE == 1 && Py_EQ == 2 && Py_NE == 3 && Py_GT == 4 && Py_GE == 5);
  return operate(State::of_object(x1), kOperations[operation], x1, x2);
}

int contains(PyObject* x, PyObject* value) {
  const State& state = State::of_object(x);
  const std::array arguments{x, value};
  if (!is_any_on_device(state, arguments)) [[likely]]
    return array_contains(x, value);
  const HostArguments host(state, "equal", arguments);
  return array_contains(host[0], host[1]);
}

}  // namespace

void add_operators(std::vector<PyType_Slot>& slots, const Modes& modes) {
  const PyType_Slot operators[] = {
      {Py_tp_richcompare, slot_pointer<&compare>()},
      {Py_nb_absolute, slot_pointer<&unary<kAbs>>()},
      {Py_nb_invert, slot_pointer<&unary<kBitwiseInvert>>()},
      {Py_nb_negative, slot_pointer<&unary<kNegative>>()},
      {Py_nb_positive, slot_pointer<&unary<kPositive>>()},
      {Py_nb_add, slot_pointer<&binary<kAdd>>()},
      {Py_nb_and, slot_pointer<&binary<kBitwiseAnd>>()},
      {Py_nb_divmod, slot_pointer<&divide_with_remainder>()},
      {Py_nb_floor_divide, slot_pointer<&binary<kFloorDivide>>()},
      {Py_nb_lshift, slot_pointer<&binary<kBitwiseLeftShift>>()},
      {Py_nb_matrix_multiply, slot_pointer<&matmul>()},
      {Py_nb_multiply, slot_pointer<&binary<kMultiply>>()},
      {Py_nb_or, slot_pointer<&binary<kBitwiseOr>>()},
      {Py_nb_power, slot_pointer<&power>()},
      {Py_nb_remainder, slot_pointer<&binary<kRemainder>>()},
      {Py_nb_rshift, slot_pointer<&binary<kBitwiseRightShift>>()},
      {Py_nb_subtract, slot_pointer<&binary<kSubtract>>()},
      {Py_nb_true_divide, slot_pointer<&binary<kDivide>>()},
      {Py_nb_xor, slot_pointer<&binary<kBitwiseXor>>()},
  };
  const PyType_Slot in_place_operators[] = {
      {Py_nb_inplace_add, slot_pointer<&in_place<kAdd>>()},
      {Py_nb_inplace_and, slot_pointer<&in_place<kBitwiseAnd>>()},
      {Py_nb_inplace_floor_divide, slot_pointer<&in_place<kFloorDivide>>()},
      {Py_nb_inplace_lshift, slot_pointer<&in_place<kBitwiseLeftShift>>()},
      {Py_nb_inplace_matrix_multiply, slot_pointer<&matmul_in_place>()},
      {Py_nb_inplace_multiply, slot_pointer<&in_place<kMultiply>>()},
      {Py_nb_inplace_or, slot_pointer<&in_place<kBitwiseOr>>()},
      {Py_nb_inplace_power, slot_pointer<&power_in_place>()},
      {Py_nb_inplace_remainder, slot_pointer<&in_place<kRemainder>>()},
      {Py_nb_inplace_rshift, slot_pointer<&in_place<kBitwiseRightShift>>()},
      {Py_nb_inplace_subtract, slot_pointer<&in_place<kSubtract>>()},
      {Py_nb_inplace_true_divide, slot_pointer<&in_place<kDivide>>()},
      {Py_nb_inplace_xor, slot_pointer<&in_place<kBitwiseXor>>()},
  };
  slots.insert(slots.end(), std::begin(operators), std::end(operators));
  if (!modes.strict) slots.push_back({Py_sq_contains, slot_pointer<&contains>()});
  if (modes.immutable) return;
  slots.insert(slots.end(), std::begin(in_place_operators), std::end(in_place_operators));
}

}  // namespace refarray::extension
