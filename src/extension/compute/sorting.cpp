// sort(), argsort() and searchsorted().
#include <string>
#include <utility>

#include "compute/indexing/index_arrays.hpp"
#include "compute/sorting/sort.hpp"
#include "core/error.hpp"
#include "extension/capi/gil.hpp"
#include "extension/compute/indexing/taking.hpp"
#include "extension/compute/operands.hpp"
#include "extension/compute/tables.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr FunctionRow kSort{
    "sort",
    "x, /, *, axis=-1, descending=False, stable=True",
    Category::kSorting,
    2021,
    R"doc(Return a sorted copy of x along an axis.

x: an array of a real-valued dtype or bool. NaN is greater than all numbers, so
    that it comes last, or first if descending.
stable: sorting is always stable: equal elements, among them -0.0 and 0.0, keep
    their order, also if descending.

Raises TypeError for complex numbers, which have no order, and for other dtypes,
IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kArgsort{
    "argsort",
    "x, /, *, axis=-1, descending=False, stable=True",
    Category::kSorting,
    2021,
    R"doc(Return the indices that sort x along an axis, as an int64 array.

x: an array of a real-valued dtype or bool. NaN is greater than all numbers.
stable: sorting is always stable: the indices of equal elements ascend, also if
    descending.

Raises TypeError for complex numbers, which have no order, and for other dtypes,
IndexError for an axis out of range, NotImplementedError on a device.)doc",
};

constexpr FunctionRow kSearchsorted{
    "searchsorted",
    "x1, x2, /, *, side='left', sorter=None",
    Category::kSearching,
    2023,
    R"doc(Return where elements of x2 belong in the sorted array x1, as an int64 array.

x1: an array of ndim 1 in ascending order, or in any order if sorter is given.
x2: an array, or a Python number, which takes the dtype of x1.
side: 'left' for the position before equal elements, 'right' for that after them.
sorter: the integers that sort x1, as from argsort(x1).

The dtypes are real-valued or bool, and promote to a common one. NaN is greater
than all numbers, as for sort(). Raises TypeError for other dtypes, ValueError for
other shapes and sides, IndexError for an index of sorter out of range, and
NotImplementedError on a device.)doc",
};

/// A strict namespace takes the real-valued dtypes of the standard, to which bool does not belong.
void require_order(const State& state, const core::DType& dtype, const char* function) {
  if (state.modes.strict && dtype.kind == core::Kind::kBool)
    core::fail(Fault::kType, function, "() takes arrays of real-valued dtypes, not bool");
  if (!dtype.is_complex()) return;
  core::fail(Fault::kType, function, "() takes arrays of real-valued dtypes or bool, not ",
             core::name(dtype), ": complex numbers have no order");
}

bool is_true(PyObject* argument, bool by_default) {
  return argument == nullptr ? by_default : check(calling<PyObject_IsTrue>(argument)) != 0;
}

/// sort() or, if `kOrders`, argsort().
template <const FunctionRow& kRow, bool kOrders>
Ref sorted(const State& state, const Given<kRow>& given) {
  const auto [x, axis_argument, descending, stable] = given;
  const core::ArrayView array = computable_view(state, x, kRow.name);
  require_order(state, array.dtype, kRow.name);
  const int axis = core::normalize_axis(
      axis_argument == nullptr ? -1 : to_int64(axis_argument, "axis"), array.ndim);
  const bool descends = is_true(descending, false);
  is_true(stable, true);  // every order is stable; the argument is only checked
  constexpr core::DType kIndex{core::Kind::kInt, 64};
  core::Array out =
      core::new_array(kOrders ? kIndex : array.dtype, array.extents(), /*zeroed=*/false);
  run_interruptibly(array.nbytes(), [&](const core::InterruptCheck& interrupt) {
    return kOrders ? core::sort_order(out, array, axis, descends, interrupt)
                   : core::sort(out, array, axis, descends, interrupt);
  });
  return make_array(state, std::move(out));
}

bool is_right(PyObject* side) {
  if (side == nullptr) return false;
  if (!PyUnicode_Check(side))
    core::fail(Fault::kType, "side must be 'left' or 'right', not ", type_name(side));
  const std::string text = utf8(side);
  if (text != "left" && text != "right")
    core::fail(Fault::kValue, "side is ", short_repr(side), "; it must be 'left' or 'right'");
  return text == "right";
}

/// x1 in the order of `sorter`.
core::Array by_sorter(const State& state, const core::ArrayView& x1, PyObject* sorter) {
  const core::ArrayView order = to_view(state, sorter, kSearchsorted.name);
  require_computable_memory(order, kSearchsorted.name);
  core::check_index_dtype(order.dtype, "sorter");
  if (order.ndim != 1 || order.shape[0] != x1.shape[0]) {
    core::fail(Fault::kValue, "searchsorted(): sorter has shape ",
               core::shape_text(order.extents()), ", x1 has shape ", core::shape_text(x1.extents()),
               "; they must be equal");
  }
  return take_along(x1, order, 0, "searchsorted()");
}

Ref searchsorted(const State& state, const Given<kSearchsorted>& given) {
  const auto [x1, x2, side, sorter] = given;
  const core::ArrayView array = computable_view(state, x1, kSearchsorted.name);
  if (array.ndim != 1)
    core::fail(Fault::kValue, "searchsorted(): x1 has ndim ", array.ndim, "; it must be 1");
  Operand first(state, x1), second(state, x2);
  require_value(second, x2, kSearchsorted.name, "x2");
  const core::DType dtype = core::scalar_dtype(promote_operands(first, second, kSearchsorted.name));
  require_order(state, dtype, kSearchsorted.name);
  const bool after_equals = is_right(side);
  core::Array ordered, owners[2];
  core::ArrayView sorted_view = array;
  if (is_given(sorter)) {
    ordered = by_sorter(state, array, sorter);
    sorted_view = ordered;
  }
  const core::ArrayView in = converted(sorted_view, dtype, owners[0]);
  const core::ArrayView values = converted(second.view(), dtype, owners[1]);
  core::Array out = core::new_array({core::Kind::kInt, 64}, values.extents(), /*zeroed=*/false);
  run_interruptibly(out.view().nbytes(), [&](const core::InterruptCheck& interrupt) {
    return core::search_sorted(out, in, values, after_equals, interrupt);
  });
  return make_array(state, std::move(out));
}

}  // namespace

PyMethodDef kSortingFunctions[] = {
    computing_entry<kSort, &sorted<kSort, false>>(),
    computing_entry<kArgsort, &sorted<kArgsort, true>>(),
    computing_entry<kSearchsorted, &searchsorted>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
