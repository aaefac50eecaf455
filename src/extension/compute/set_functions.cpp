// isin(), and the distinct elements of an array: unique_all() and its three parts.
#include <utility>

#include "compute/ops/contains.hpp"
#include "compute/sorting/sort.hpp"
#include "core/error.hpp"
#include "extension/capi/gil.hpp"
#include "extension/compute/elementwise_functions.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/tables.hpp"
#include "extension/compute/tuples.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/function_row.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr FunctionRow kIsin{
    "isin",
    "x1, x2, /, *, invert=False",
    Category::kSet,
    2025,
    R"doc(Whether each element of x1 is among the elements of x2: an array of bool.

x1, x2: arrays of any shapes, or one of them a Python number, which takes the
    dtype of the other. NaN is in no array.
invert: True tells instead whether elements are not in x2.

Raises TypeError where the standard leaves the promotion undefined, OverflowError
for a number that the dtype cannot hold, and NotImplementedError on a device.)doc",
};

constexpr FunctionRow kUniqueAll{
    "unique_all",
    "x, /",
    Category::kSet,
    2021,
    R"doc(Return the distinct elements of x, and where they are.

The result is a named tuple. values: the distinct elements in ascending order;
each NaN is distinct, and last; of equal zeros the first is taken. Complex numbers
are in the order of their real, then their imaginary parts. indices: of the first
occurrence of each value in row-major order. inverse_indices: of the shape of x;
the index in values of each element. counts: how often each value occurs.

Raises TypeError for dtypes that take part in no computation, NotImplementedError
on a device.)doc",
};

constexpr FunctionRow kUniqueCounts{
    "unique_counts",
    "x, /",
    Category::kSet,
    2021,
    R"doc(Return the distinct elements of x in ascending order, and how often each occurs.

The result is a named tuple (values, counts); see unique_all(). Raises TypeError
for dtypes that take part in no computation, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kUniqueInverse{
    "unique_inverse",
    "x, /",
    Category::kSet,
    2021,
    R"doc(Return the distinct elements of x in ascending order, and the index of each
element of x among them.

The result is a named tuple (values, inverse_indices); see unique_all(). Raises
TypeError for dtypes that take part in no computation, NotImplementedError on a
device.)doc",
};

constexpr FunctionRow kUniqueValues{
    "unique_values",
    "x, /",
    Category::kSet,
    2021,
    R"doc(Return the distinct elements of x in ascending order; see unique_all().

Raises TypeError for dtypes that take part in no computation, NotImplementedError
on a device.)doc",
};

Ref isin(const State& state, const Given<kIsin>& given) {
  const auto [x1, x2, invert] = given;
  Operand first(state, x1), second(state, x2);
  require_value(first, x1, kIsin.name, "x1");
  require_value(second, x2, kIsin.name, "x2");
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

template <auto find>
core::Distinct find_distinct(const State& state, PyObject* x, const char* function) {
  refuse_counting(state, function);
  const core::ArrayView array = computable_view(state, x, function);
  core::Distinct out;
  run_interruptibly(array.nbytes(), [&](const core::InterruptCheck& interrupt) {
    return find(out, array, interrupt);
  });
  return out;
}

Ref unique_all(const State& state, PyObject* x) {
  core::Distinct found = find_distinct<&core::distinct_all>(state, x, "unique_all");
  return named_tuple(state, "UniqueAll",
                     {&found.values, &found.indices, &found.inverse, &found.counts});
}

Ref unique_counts(const State& state, PyObject* x) {
  core::Distinct found = find_distinct<&core::distinct_counts>(state, x, "unique_counts");
  return named_tuple(state, "UniqueCounts", {&found.values, &found.counts});
}

Ref unique_inverse(const State& state, PyObject* x) {
  core::Distinct found = find_distinct<&core::distinct_all>(state, x, "unique_inverse");
  return named_tuple(state, "UniqueInverse", {&found.values, &found.inverse});
}

Ref unique_values(const State& state, PyObject* x) {
  core::Distinct found = find_distinct<&core::distinct_values>(state, x, "unique_values");
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
    computing_entry<kIsin, &isin>(),
    computing_entry<kUniqueAll, &unique_all>(),
    computing_entry<kUniqueCounts, &unique_counts>(),
    computing_entry<kUniqueInverse, &unique_inverse>(),
    computing_entry<kUniqueValues, &unique_values>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
