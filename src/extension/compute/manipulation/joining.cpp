// concat(), stack() and unstack(): copies into, and views of, parts of one array.
#include <cstdint>
#include <utility>
#include <vector>

#include "core/array.hpp"
#include "core/error.hpp"
#include "core/ledger.hpp"
#include "core/promotion.hpp"
#include "extension/compute/manipulation/repeating.hpp"
#include "extension/compute/tables.hpp"
#include "extension/compute/tuples.hpp"
#include "extension/copy/copying.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr FunctionRow kConcat{
    "concat",
    "arrays, /, *, axis=0",
    Category::kManipulation,
    2021,
    R"doc(Join arrays along an axis that they have.

arrays: a tuple or list of arrays on one device, of equal shapes but for axis.
axis: None joins the flattened arrays, in row-major order.

Returns a new array of the dtype to which all promote, on their device. Raises
ValueError if shapes or devices differ or arrays is empty, IndexError for an axis
out of range, TypeError where the standard leaves the promotion undefined.)doc",
};

constexpr FunctionRow kStack{
    "stack",
    "arrays, /, *, axis=0",
    Category::kManipulation,
    2021,
    R"doc(Join arrays of equal shapes along a new axis.

arrays: a tuple or list of arrays on one device.
axis: the position of the new axis in the result.

Returns a new array of the dtype to which all promote, on their device. Raises
ValueError if shapes or devices differ or arrays is empty, IndexError for an axis
out of range, TypeError where the standard leaves the promotion undefined.)doc",
};

constexpr FunctionRow kUnstack{
    "unstack",
    "x, /, *, axis=0",
    Category::kManipulation,
    2023,
    R"doc(Return a tuple of the parts of x along an axis, without copies.

The parts are views that lack the axis. Raises IndexError for an axis out of
range, TypeError for arguments of other types.)doc",
};

/// The arrays of a sequence, with a reference to each.
class ArrayList {
 public:
  /// Throws kType if `arrays` is no sequence of arrays, kValue if it is empty or its arrays are on
  /// different devices; `function` names the Python function.
  ArrayList(const State& state, PyObject* arrays, const char* function);

  const std::vector<core::ArrayView>& views() const noexcept { return views_; }
  /// Calls body(view) for each. Signal handlers run after every kSignalInterval of them; a few
  /// arrays do not pay for the question.
  template <class Body>
  void for_each_view(Body body) const {
    constexpr std::size_t kSignalInterval = std::size_t{1} << 14;
    std::size_t done = 0;
    for (const core::ArrayView& view : views_) {
      body(view);
      if (++done % kSignalInterval == 0) check(calling<PyErr_CheckSignals>());
    }
  }
  core::Device device() const noexcept { return views_.front().device(); }
  /// The dtype to which all promote. Throws kType, naming the two dtypes that do not.
  core::DType common_dtype() const;

 private:
  Ref owner_;
  const char* function_;
  std::vector<core::ArrayView> views_;
};

ArrayList::ArrayList(const State& state, PyObject* arrays, const char* function)
    : function_(function) {
  if (!PyTuple_Check(arrays) && !PyList_Check(arrays)) {
    core::fail(Fault::kType, function, "(): arrays must be a tuple or a list of arrays, not ",
               type_name(arrays));
  }
  owner_ = check(calling<PySequence_Tuple>(arrays));  // nobody can shorten the tuple
  const Py_ssize_t count = PyTuple_Size(owner_.get());
  if (count == 0)
    core::fail(Fault::kValue, function, "(): arrays is empty; at least one is needed");
  views_.reserve(static_cast<std::size_t>(count));
  for_each_index(count, [&](std::int64_t i) {
    PyObject* item = compat::tuple_item(owner_.get(), static_cast<Py_ssize_t>(i));
    if (!is_array(state, item)) {
      refuse_other_namespace(state, item);
      core::fail(Fault::kType, function, "(): arrays[", i, "] must be a refarray.Array, not ",
                 type_name(item));
    }
    views_.push_back(view_of(item));
    if (views_.back().device() == device()) return;
    core::fail(Fault::kValue, function, "(): arrays[0] is on ", core::name(device()), ", arrays[",
               i, "] on ", core::name(views_.back().device()),
               "; all must be on one device: see to_device()");
  });
}

core::DType ArrayList::common_dtype() const {
  core::DType out = views_.front().dtype;
  for_each_view([&](const core::ArrayView& view) {
    const auto promoted = core::promote(out, view.dtype);
    if (!promoted) {
      core::fail(Fault::kType, function_, "(): ", core::name(out), " and ", core::name(view.dtype),
                 " have no common dtype in the standard; use astype()");
    }
    out = *promoted;
  });
  return out;
}

/// Throws unless both shapes are equal but for `axis`; -1 for none.
void check_shapes(const char* function, core::Extents first, core::Extents other, std::size_t at,
                  int axis) {
  bool fits = first.size() == other.size();
  for (std::size_t i = 0; fits && i < first.size(); ++i)
    fits = first[i] == other[i] || static_cast<int>(i) == axis;
  if (fits) return;
  const std::string exception =
      axis < 0 ? std::string() : core::text(" in all axes but axis ", axis);
  core::fail(Fault::kValue, function, "(): arrays[0] has shape ", core::shape_text(first),
             ", arrays[", at, "] has shape ", core::shape_text(other), "; they must be equal",
             exception);
}

/// A new array that is filled by arrays one after the other along an axis.
class Joined {
 public:
  /// `stacks`: the arrays lack the axis.
  [[gnu::noinline]] Joined(const core::Device& of, const core::Layout& shape, int axis,
                           const core::DType& dtype, bool stacks)
      : out_(allocated(default_copy_device(of), shape, dtype)),
        axis_(stacks ? -1 : axis),
        stride_(out_.array().layout.strides[axis]) {
    const core::Layout& all = out_.array().layout;
    for (int i = 0; i < all.ndim; ++i)
      if (!stacks || i != axis) part_.push(all.shape[i], all.strides[i]);
  }

  [[gnu::noinline]] void add(const core::ArrayView& array) {
    if (axis_ >= 0) part_.shape[axis_] = array.shape[axis_];
    const std::int64_t offset = core::wrapped_product(at_, stride_);
    move_elements(core::with_layout(out_.array(), part_, offset), array);
    at_ += axis_ >= 0 ? array.shape[axis_] : 1;
  }
  core::Array finish() noexcept { return out_.finish(); }

 private:
  static core::Array allocated(const core::Device& device, const core::Layout& shape,
                               const core::DType& dtype) {
    core::note(core::Entry::kCopy, core::nbytes_of(core::size_of(shape.extents()), dtype));
    return allocate_on(device, dtype, shape.extents(), dtype.is_packed());
  }

  Unfinished out_;
  int axis_;
  std::int64_t stride_;
  core::Layout part_;  // of the array that is added
  std::int64_t at_ = 0;
};

void extend(std::int64_t& extent, std::int64_t by, int axis) {
  if (__builtin_add_overflow(extent, by, &extent))
    core::fail(Fault::kOverflow, "concat(): the extent of axis ", axis, " exceeds 2**63 - 1");
}

Ref concat_flattened(const State& state, const ArrayList& list, const core::DType& dtype) {
  std::int64_t size = 0;
  list.for_each_view([&](const core::ArrayView& array) { extend(size, array.size(), 0); });
  Joined out(list.device(), core::c_layout({&size, 1}), 0, dtype, /*stacks=*/false);
  list.for_each_view([&](const core::ArrayView& array) { out.add(flattened(array)); });
  return make_array(state, out.finish());
}

Ref concat_along(const State& state, const ArrayList& list, std::int64_t axis_argument,
                 const core::DType& dtype) {
  const core::ArrayView& first = list.views().front();
  const int axis = core::normalize_axis(axis_argument, first.ndim);
  core::Layout shape(first.extents(), first.stride_span());
  shape.shape[axis] = 0;
  std::size_t at = 0;
  list.for_each_view([&](const core::ArrayView& array) {
    check_shapes(kConcat.name, first.extents(), array.extents(), at++, axis);
    extend(shape.shape[axis], array.shape[axis], axis);
  });
  Joined out(first.device(), shape, axis, dtype, /*stacks=*/false);
  list.for_each_view([&](const core::ArrayView& array) { out.add(array); });
  return make_array(state, out.finish());
}

Ref concat(const State& state, const Given<kConcat>& given) {
  const auto [arrays, axis] = given;
  const ArrayList list(state, arrays, kConcat.name);
  const core::DType dtype = list.common_dtype();
  if (axis == Py_None) return concat_flattened(state, list, dtype);
  return concat_along(state, list, axis == nullptr ? 0 : to_int64(axis, "axis"), dtype);
}

Ref stack(const State& state, const Given<kStack>& given) {
  const auto [arrays, axis_argument] = given;
  const ArrayList list(state, arrays, kStack.name);
  const core::DType dtype = list.common_dtype();
  const core::ArrayView& first = list.views().front();
  if (first.ndim == core::kMaxRank) {
    core::fail(Fault::kValue, "stack(): the result would have ndim ", first.ndim + 1,
               "; the limit is ", core::kMaxRank);
  }
  const int axis = core::normalize_axis(
      axis_argument == nullptr ? 0 : to_int64(axis_argument, "axis"), first.ndim + 1);
  core::Layout shape;
  for (int i = 0; i <= first.ndim; ++i) {
    if (i == axis) shape.push(static_cast<std::int64_t>(list.views().size()), 0);
    if (i < first.ndim) shape.push(first.shape[i], 0);
  }
  std::size_t at = 0;
  list.for_each_view([&](const core::ArrayView& array) {
    check_shapes(kStack.name, first.extents(), array.extents(), at++, -1);
  });
  Joined out(first.device(), shape, axis, dtype, /*stacks=*/true);
  list.for_each_view([&](const core::ArrayView& array) { out.add(array); });
  return make_array(state, out.finish());
}

Ref unstack(const State& state, const Given<kUnstack>& given) {
  const auto [x, axis_argument] = given;
  const core::ArrayView array = to_view(state, x, kUnstack.name);
  const int axis = core::normalize_axis(
      axis_argument == nullptr ? 0 : to_int64(axis_argument, "axis"), array.ndim);
  core::Layout layout;
  for (int i = 0; i < array.ndim; ++i) {
    if (i != axis) layout.push(array.shape[i], array.strides[i]);
  }
  std::vector<Ref> out;
  for_each_index(array.shape[axis], [&](std::int64_t i) {
    const std::int64_t offset = core::wrapped_product(i, array.strides[axis]);
    out.push_back(make_array(state, core::with_layout(array, layout, offset)));
  });
  return make_tuple(std::move(out));
}

}  // namespace

PyMethodDef kJoiningFunctions[] = {
    entry<kConcat, &concat>(),
    entry<kStack, &stack>(),
    entry<kUnstack, &unstack>(),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
