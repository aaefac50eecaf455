// isin(), and the distinct elements of an array: unique_all() and its three parts.
#include <utility>

#include "compute/ops/contains.hpp"
#include "compute/sorting/sets.hpp"
#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/capi/signals.hpp"
#include "extension/compute/elementwise_call.hpp"
#include "extension/compute/named_tuple.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/sorting_rows.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

void require_operand(const Operand& operand, PyObject* object, const char* name) {
  if (!operand) {
    core::fail(Fault::kType, "isin(): ", name, " must be an array or a Python number, not ",
               type_name(object), "; asarray() makes an array");
  }
  if (operand.is_array()) require_computable_memory(operand.view(), kIsin.name);
}

/// The array itself, or `owner`, a copy of it with another dtype.
core::ArrayView converted(const core::ArrayView& array, const core::DType& dtype,
                          core::Array& owner) {
  if (array.dtype == dtype) return array;
  owner = working_copy(array, dtype);
  return owner;
}

Ref isin(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x1, x2, invert] = bind<kIsin>(state, args, nargs, kwnames);
  Operand first(state, x1), second(state, x2);
  require_operand(first, x1, "x1");
  require_operand(second, x2, "x2");
  if (!first.is_array() && !second.is_array())
    core::fail(Fault::kType, "isin(): x1 or x2 must be an array; both are Python numbers");
  const core::ScalarType type = promote_operands(first, second, kIsin.name);
  const core::DType dtype = core::scalar_dtype(type);
  if (state.modes.strict && !core::contains(core::dtype_sets::kInteger, type)) {
    core::fail(Fault::kType, "isin() of a strict namespace takes arrays of integer dtypes, not ",
               core::name(dtype));
  }
  const bool inverts = invert != nullptr && check(calling<PyObject_IsTrue>(invert)) != 0;
  core::Array owners[2];
  const core::ArrayView values = converted(first.view(), dtype, owners[0]);
  const core::ArrayView elements = converted(second.view(), dtype, owners[1]);
  core::Array out = core::new_array({core::Kind::kBool, 8}, values.extents(), /*zeroed=*/false);
  run_interruptibly(values.nbytes() + elements.nbytes(),
                    [&](const core::InterruptCheck& interrupt) {
                      return core::is_in(out, values, elements, inverts, interrupt);
                    });
  return make_array(state, std::move(out));
}

core::Distinct find_distinct(const State& state, PyObject* x, const char* function, bool all) {
  refuse_counting(state, function);
  const core::ArrayView array = computable_view(state, x, function);
  core::Distinct out;
  run_interruptibly(array.nbytes(), [&](const core::InterruptCheck& interrupt) {
    return all ? core::distinct_all(out, array, interrupt)
               : core::distinct_counts(out, array, interrupt);
  });
  return out;
}

Ref unique_all(PyObject* module, PyObject* x) {
  const State& state = State::of_module(module);
  core::Distinct found = find_distinct(state, x, "unique_all", true);
  return named_tuple(state, "UniqueAll",
                     {&found.values, &found.indices, &found.inverse, &found.counts});
}

Ref unique_counts(PyObject* module, PyObject* x) {
  const State& state = State::of_module(module);
  core::Distinct found = find_distinct(state, x, "unique_counts", false);
  return named_tuple(state, "UniqueCounts", {&found.values, &found.counts});
}

Ref unique_inverse(PyObject* module, PyObject* x) {
  const State& state = State::of_module(module);
  core::Distinct found = find_distinct(state, x, "unique_inverse", true);
  return named_tuple(state, "UniqueInverse", {&found.values, &found.inverse});
}

Ref unique_values(PyObject* module, PyObject* x) {
  const State& state = State::of_module(module);
  core::Distinct found = find_distinct(state, x, "unique_values", false);
  return make_array(state, std::move(found.values));
}

/// Whether an element of `array` equals the only one of `value`; of the same dtype or not.
bool has_element(const State& state, const core::ArrayView& array, const core::ArrayView& value,
                 core::ScalarType dtype) {
  bool found = false;
  run_interruptibly(array.nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::contains(found, array, value, dtype, interrupt);
  });
  core::Array out = core::new_array({core::Kind::kBool, 8}, {}, /*zeroed=*/true);
  *out.data = std::byte{found};
  // The namespace may refuse that a number is read, or count it.
  return check(calling<PyObject_IsTrue>(make_array(state, std::move(out)).get())) != 0;
}

}  // namespace

int array_contains(PyObject* object, PyObject* value) {
  const State& state = State::of_object(object);
  Operand x(state, object), other(state, value);
  if (other && other.view().ndim == 0) {
    require_computable_memory(x.view(), "equal");
    if (other.is_array()) require_computable_memory(other.view(), "equal");
    const core::ScalarType dtype = promote_operands(x, other, "equal");
    return has_element(state, x.view(), other.view(), dtype);
  }
  const Ref equal = check(calling<PyObject_RichCompare>(object, value, Py_EQ));
  if (!is_array(state, equal.get())) return check(calling<PyObject_IsTrue>(equal.get()));
  constexpr std::byte kTrue{1};
  core::ArrayView wanted;
  wanted.data = const_cast<std::byte*>(&kTrue);  // only read
  wanted.dtype = {core::Kind::kBool, 8};
  return has_element(state, view_of(equal.get()), wanted, core::ScalarType::kBool);
}

PyMethodDef kSetFunctions[] = {
    entry<kIsin, &isin>(),
    entry<kUniqueAll, &unique_all>(),
    entry<kUniqueCounts, &unique_counts>(),
    entry<kUniqueInverse, &unique_inverse>(),
    entry<kUniqueValues, &unique_values>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
