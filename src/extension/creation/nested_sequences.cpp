// Implements reading nested sequences: shape, numbers and dtype, in one pass.
//
// Reading runs user code (__getitem__, __index__, a producer's __dlpack__), which may modify the
// sequences. Therefore each object is read once, its length is checked again before each item, and
// the numbers are stored until the shape and dtype are known.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/creation/asarray.hpp"
#include "extension/interop/protocol_order.hpp"
#include "extension/interop/scalars.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/objects/python_numbers.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::kMaxRank;

class NestedReader {
 public:
  NestedReader(State& state, Leniency leniency) noexcept : state_(state), leniency_(leniency) {}

  void read(PyObject* object) { read(object, 0); }
  core::Array store(const core::DType* wanted) const;

 private:
  void read(PyObject* object, int depth);
  void read_sequence(PyObject* object, int depth);
  void read_array(PyObject* array, bool is_own, int depth);
  void read_array_axis(const core::ArrayView& block, int axis, std::int64_t bit);
  void begin_level(std::int64_t extent, int depth);
  void begin_numbers(int depth);
  void add_dtype(const core::DType& dtype) noexcept;
  void add_number(Ref number);
  void add_literal(Ref number, int depth);
  void add_scalar(Scalar scalar, int depth);
  core::DType dtype() const noexcept;
  std::string position(int depth) const;
  [[noreturn, gnu::cold]] void fail_nested_array(int depth) const;

  State& state_;
  const Leniency leniency_;
  int ndim_ = 0;                // levels seen so far on the way to the first number
  bool is_ndim_final_ = false;  // the first number, or an empty level, has been reached
  bool ends_in_empty_sequence_ = false;
  std::int64_t shape_[kMaxRank];       // the first ndim_ extents are known
  std::int64_t index_[kMaxRank] = {};  // of the item being read, for messages
  std::vector<Ref> numbers_;
  NumberKind kind_ = NumberKind::kBool;     // the highest kind in numbers_
  std::optional<core::DType> array_dtype_;  // the dtype of the last array or scalar
  bool has_one_dtype_ = true;               // all numbers come from those of array_dtype_
};

/// The position of the item being read, for messages: "item [0][3]", or "the argument" at depth 0.
std::string NestedReader::position(int depth) const {
  std::string out = depth == 0 ? "the argument" : "item ";
  for (int i = 0; i < std::min(depth, 8); ++i) out += core::text("[", index_[i], "]");
  return depth > 8 ? out + "..." : out;
}

/// A sequence or axis of `extent` items begins at `depth`. The first one at a depth determines the
/// extent; throws ValueError if a later one differs.
void NestedReader::begin_level(std::int64_t extent, int depth) {
  if (depth >= kMaxRank) {
    core::fail(Fault::kValue, position(depth), " is nested more than ", kMaxRank,
               " levels deep; the limit is ", kMaxRank, " (does a list contain itself?)");
  }
  if (!is_ndim_final_ && depth == ndim_) {
    shape_[ndim_++] = extent;
    return;
  }
  if (depth >= ndim_) {
    core::fail(Fault::kValue, "ragged: ", position(depth), " has length ", extent,
               ", but the first of its level is a number");
  }
  if (extent == shape_[depth]) return;
  core::fail(Fault::kValue, "ragged: ", position(depth), " has length ", extent,
             ", but the first of its level has ", shape_[depth]);
}

/// Numbers, or nothing after an empty sequence, are at `depth`. The first time, this determines
/// ndim and reserves memory; throws ValueError if the depth differs later.
void NestedReader::begin_numbers(int depth) {
  if (is_ndim_final_) {
    if (depth == ndim_) return;
    core::fail(Fault::kValue, "ragged: ", position(depth),
               " is a number, but the first of its level has length ", shape_[depth]);
  }
  is_ndim_final_ = true;
  const std::int64_t size = core::checked_size({shape_, static_cast<std::size_t>(ndim_)});
  try {  // boundary: the standard library's exception has no size in its message
    numbers_.reserve(static_cast<std::size_t>(size));
  } catch (const std::exception&) {  // boundary: bad_alloc or length_error
    core::fail(Fault::kMemory, "no memory for ", size, " numbers of shape ",
               core::shape_text({shape_, static_cast<std::size_t>(ndim_)}));
  }
}

void NestedReader::add_dtype(const core::DType& dtype) noexcept {
  has_one_dtype_ = has_one_dtype_ && (!array_dtype_ || *array_dtype_ == dtype);
  array_dtype_ = dtype;
}

void NestedReader::add_number(Ref number) {
  kind_ = std::max(kind_, number_kind(number.get()));
  numbers_.push_back(std::move(number));
}

/// A number that is not from an array.
void NestedReader::add_literal(Ref number, int depth) {
  begin_numbers(depth);
  has_one_dtype_ = false;
  add_number(std::move(number));
}

/// A scalar of another library. It may have a dtype, as an array has.
void NestedReader::add_scalar(Scalar scalar, int depth) {
  if (!scalar.dtype) return add_literal(std::move(scalar.number), depth);
  begin_numbers(depth);
  add_dtype(*scalar.dtype);
  add_number(std::move(scalar.number));
}

void NestedReader::fail_nested_array(int depth) const {
  core::fail(Fault::kType, position(depth),
             " is an array; stack() and concat() join arrays, and this namespace is strict");
}

void NestedReader::read(PyObject* object, int depth) {
  if (Ref number = plain_number(object)) return add_literal(std::move(number), depth);
  if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) return read_sequence(object, depth);
  if (!PyUnicode_Check(object)) {  // a str is a sequence of strs, without end
    if (auto scalar = to_scalar(state_, object)) return add_scalar(std::move(*scalar), depth);
    if (leniency_ == Leniency::kNone) refuse_other_namespace(state_, object);
    if (const Ref block = array_over(state_, object)) {
      // Not further in: the official suite makes matrices of arrays of ndim 0.
      if (state_.modes.strict && depth == 1) fail_nested_array(depth);
      return read_array(block.get(), block.get() == object, depth);
    }
    if (PySequence_Check(object)) return read_sequence(object, depth);
  }
  core::fail(Fault::kType, position(depth), " is of type ", type_name(object),
             PyCapsule_CheckExact(object)
                 ? "; from_capsule() imports the tensor in a DLPack capsule"
                 : "; an array is made from numbers, nested sequences of them, and objects that "
                   "export an array");
}

void NestedReader::read_sequence(PyObject* object, int depth) {
  const Py_ssize_t length = check(calling<PySequence_Size>(object));
  const bool is_builtin = PyList_CheckExact(object) || PyTuple_CheckExact(object);  // runs no code
  const auto size = is_builtin ? &PySequence_Size : &calling<&PySequence_Size, PyObject*>;
  const auto get =
      is_builtin ? &PySequence_GetItem : &calling<&PySequence_GetItem, PyObject*, Py_ssize_t>;
  begin_level(length, depth);
  if (length == 0) {
    ends_in_empty_sequence_ = true;
    return begin_numbers(depth + 1);
  }
  for_each_index(length, [&](std::int64_t index) {
    const auto i = static_cast<Py_ssize_t>(index);
    index_[depth] = i;
    const Py_ssize_t now = i == 0 ? length : check(size(object));
    if (now != length) {
      core::fail(Fault::kValue, position(depth), " changed its length from ", length, " to ", now,
                 " while it was read");
    }
    const Ref item = check(get(object, i));
    read(item.get(), depth + 1);
  });
}

/// An array inside the sequences: its axes are the levels from `depth` on; lanes are one more
/// level. `is_own`: it was not made here of what another object exports. Not inlined, because its
/// large frame would count for each level of sequences.
[[gnu::noinline]] void NestedReader::read_array(PyObject* array, bool is_own, int depth) {
  constexpr const char* kOperation = "reading an array inside a sequence";
  core::Array owner;
  const core::ArrayView block = is_own ? read_elements(array, kOperation, owner)
                                       : to_readable(view_of(array), kOperation, owner);
  for (int axis = 0; axis < block.ndim; ++axis) {
    index_[std::min(depth + axis, kMaxRank - 1)] = 0;
    begin_level(block.shape[axis], depth + axis);
  }
  add_dtype(block.dtype);
  int end = depth + block.ndim;
  if (block.dtype.lanes != 1) begin_level(block.dtype.lanes, end++);
  const std::int64_t size = block.size();
  begin_numbers(end);
  if (size > 0) read_array_axis(block, 0, block.bit);
}

void NestedReader::read_array_axis(const core::ArrayView& block, int axis, std::int64_t bit) {
  if (axis == block.ndim) {
    for (int lane = 0; lane < block.dtype.lanes; ++lane) {
      add_number(read_scalar(block.dtype, block.data, bit + lane * block.dtype.bits));
    }
    return;
  }
  for_each_index(block.shape[axis], [&](std::int64_t i) {
    read_array_axis(block, axis + 1, bit + i * block.strides[axis] * block.dtype.stored_bits());
  });
}

core::DType NestedReader::dtype() const noexcept {
  if (has_one_dtype_ && array_dtype_) return *array_dtype_;
  return default_dtype(numbers_.empty() ? NumberKind::kFloat : kind_);
}

core::Array NestedReader::store(const core::DType* wanted) const {
  const core::DType to = wanted == nullptr ? dtype() : *wanted;
  core::Extents shape{shape_, static_cast<std::size_t>(ndim_)};
  const bool fills_lanes = to.lanes != 1 && ndim_ == 0;  // with a single number
  // The elements' level is missing below an empty sequence: tolist() of an empty array has none.
  if (to.lanes != 1 && !fills_lanes && !ends_in_empty_sequence_) {
    if (shape.back() != to.lanes) {
      core::fail(Fault::kValue, "the innermost level has length ", shape.back(), "; an element of ",
                 core::name(to), " has ", int{to.lanes}, " lanes");
    }
    shape = shape.first(shape.size() - 1);
  }
  const bool is_bool = to.kind == core::Kind::kBool;
  const bool is_integer = to.kind == core::Kind::kInt || to.kind == core::Kind::kUInt;
  const bool is_lower =
      leniency_ == Leniency::kOfAsarray &&
      ((is_bool && kind_ > NumberKind::kBool) || (is_integer && kind_ > NumberKind::kInt));
  // Unused bits of padded and packed elements are 0, so that equal arrays have equal bytes.
  core::Array out = core::new_array(to, shape, /*zeroed=*/to.is_sub_byte());
  for_each_index(core::size_of(shape), [&](std::int64_t i) {
    for (int lane = 0; lane < to.lanes; ++lane) {
      const auto from = static_cast<std::size_t>(fills_lanes ? 0 : i * to.lanes + lane);
      PyObject* const number = numbers_[from].get();
      const Ref lower = is_lower ? in_kind_of(to, number) : Ref{};
      write_scalar(to, out.data, i * to.stored_bits() + lane * to.bits,
                   is_lower ? lower.get() : number);
    }
  });
  return out;
}

}  // namespace

core::Array array_from_nested(State& state, PyObject* object, const core::DType* dtype,
                              Leniency leniency) {
  NestedReader reader(state, leniency);
  reader.read(object);
  return reader.store(dtype);
}

}  // namespace refarray::extension
