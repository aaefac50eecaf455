// Owns reading nested sequences: their shape, their numbers and the dtype that holds those, in one
// pass.
//
// Reading runs foreign code (__getitem__, __float__, a producer's __dlpack__) that may change what
// is being read. Therefore every object is visited once, every length is asked again before each
// item, and the numbers are kept.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "extension/array/element.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/creation/creation.hpp"
#include "extension/interop/protocol_order.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using core::kMaxRank;

class NestedReader {
 public:
  explicit NestedReader(State& state) noexcept : state_(state) {}

  void read(PyObject* object) { visit(object, 0); }
  core::Array store(const core::DType* wanted) const;

 private:
  void visit(PyObject* object, int depth);
  void visit_sequence(PyObject* object, int depth);
  void visit_block(const core::ArrayView& array, int depth);
  void visit_block_axis(const core::ArrayView& block, int axis, std::int64_t bit);
  void meet_extent(std::int64_t extent, int depth);
  void meet_end(int depth);
  void keep(Ref number);
  void keep_literal(Ref number, int depth);
  core::DType dtype() const noexcept;
  std::string place(int depth) const;

  State& state_;
  int known_ = 0;       // axes whose extent the first way down has told
  bool ended_ = false;  // that way down has come to its end, so the rank is known
  std::int64_t shape_[kMaxRank];
  std::int64_t at_[kMaxRank] = {};  // where the reading is, for messages
  std::vector<Ref> numbers_;
  NumberKind kind_ = NumberKind::kBool;
  std::optional<core::DType> origin_;  // the dtype of the last array met
  bool one_origin_ = true;             // all numbers so far came out of arrays of that dtype
};

/// "[0][3]": the item that cannot be used; the argument itself at depth 0.
std::string NestedReader::place(int depth) const {
  std::string out = depth == 0 ? "the argument" : "item ";
  for (int i = 0; i < std::min(depth, 8); ++i) out += core::text("[", at_[i], "]");
  return depth > 8 ? out + "..." : out;
}

/// A level of `extent` items at `depth`. The first of its depth settles what all others must be.
void NestedReader::meet_extent(std::int64_t extent, int depth) {
  if (depth >= kMaxRank) {
    core::fail(Fault::kValue, place(depth), " is nested more than ", kMaxRank,
               " levels deep; the limit is ", kMaxRank, " (does a list contain itself?)");
  }
  if (!ended_ && depth == known_) {
    shape_[known_++] = extent;
    return;
  }
  if (depth >= known_) {
    core::fail(Fault::kValue, "ragged: ", place(depth), " has length ", extent,
               ", but the first of its level is a number");
  }
  if (extent == shape_[depth]) return;
  core::fail(Fault::kValue, "ragged: ", place(depth), " has length ", extent,
             ", but the first of its level has ", shape_[depth]);
}

/// The innermost level ends at `depth`: below it are numbers, or nothing.
void NestedReader::meet_end(int depth) {
  if (ended_) {
    if (depth == known_) return;
    core::fail(Fault::kValue, "ragged: ", place(depth),
               " is a number, but the first of its level has length ", shape_[depth]);
  }
  ended_ = true;
  const std::int64_t size = core::checked_size({shape_, static_cast<std::size_t>(known_)});
  try {  // boundary: the standard library's error names no number
    numbers_.reserve(static_cast<std::size_t>(size));
  } catch (const std::exception&) {  // boundary: bad_alloc or length_error
    core::fail(Fault::kMemory, "no memory for ", size, " numbers of shape ",
               core::shape_text({shape_, static_cast<std::size_t>(known_)}));
  }
}

void NestedReader::keep(Ref number) {
  kind_ = std::max(kind_, number_kind(number.get()));
  numbers_.push_back(std::move(number));
}

/// A number that came out of no array.
void NestedReader::keep_literal(Ref number, int depth) {
  meet_end(depth);
  one_origin_ = false;
  keep(std::move(number));
}

void NestedReader::visit(PyObject* object, int depth) {
  if (Ref number = plain_number(object)) return keep_literal(std::move(number), depth);
  if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) return visit_sequence(object, depth);
  if (!PyUnicode_Check(object)) {  // a str is a sequence of itself
    if (const Ref block = array_over(state_, object))
      return visit_block(view_of(block.get()), depth);
    if (PySequence_Check(object)) return visit_sequence(object, depth);
    if (Ref number = to_number(state_, object)) return keep_literal(std::move(number), depth);
  }
  core::fail(
      Fault::kType, place(depth), " is of type ", type_name(object),
      "; an array is made of numbers, of sequences of numbers, and of what exports an array");
}

void NestedReader::visit_sequence(PyObject* object, int depth) {
  const Py_ssize_t length = check(calling<PySequence_Size>(object));
  meet_extent(length, depth);
  if (length == 0) return meet_end(depth + 1);
  for_each_index(length, [&](std::int64_t index) {
    const auto i = static_cast<Py_ssize_t>(index);
    at_[depth] = i;
    const Py_ssize_t now = i == 0 ? length : check(calling<PySequence_Size>(object));
    if (now != length) {
      core::fail(Fault::kValue, place(depth), " changed its length from ", length, " to ", now,
                 " while it was read");
    }
    const Ref item = check(calling<PySequence_GetItem>(object, i));
    visit(item.get(), depth + 1);
  });
}

/// An array inside the sequences: its axes are the levels from `depth` on, its lanes one more.
void NestedReader::visit_block(const core::ArrayView& array, int depth) {
  core::Array keeper;
  const core::ArrayView block = to_readable(array, "reading an array inside a sequence", keeper);
  for (int axis = 0; axis < block.ndim; ++axis) {
    at_[std::min(depth + axis, kMaxRank - 1)] = 0;
    meet_extent(block.shape[axis], depth + axis);
  }
  one_origin_ = one_origin_ && (!origin_ || *origin_ == block.dtype);
  origin_ = block.dtype;
  int end = depth + block.ndim;
  if (block.dtype.lanes != 1) meet_extent(block.dtype.lanes, end++);
  const std::int64_t size = block.size();
  meet_end(end);
  if (size > 0) visit_block_axis(block, 0, block.bit);
}

void NestedReader::visit_block_axis(const core::ArrayView& block, int axis, std::int64_t bit) {
  if (axis == block.ndim) {
    for (int lane = 0; lane < block.dtype.lanes; ++lane) {
      keep(read_scalar(block.dtype, block.data, bit + lane * block.dtype.bits));
    }
    return;
  }
  for_each_index(block.shape[axis], [&](std::int64_t i) {
    visit_block_axis(block, axis + 1, bit + i * block.strides[axis] * block.dtype.stored_bits());
  });
}

core::DType NestedReader::dtype() const noexcept {
  if (one_origin_ && origin_) return *origin_;
  return default_dtype(numbers_.empty() ? NumberKind::kFloat : kind_);
}

core::Array NestedReader::store(const core::DType* wanted) const {
  const core::DType to = wanted == nullptr ? dtype() : *wanted;
  core::Extents shape{shape_, static_cast<std::size_t>(known_)};
  const bool spread = to.lanes != 1 && known_ == 0;  // one number for all lanes
  if (to.lanes != 1 && !spread) {
    if (shape.back() != to.lanes) {
      core::fail(Fault::kValue, "the innermost level has length ", shape.back(), "; an element of ",
                 core::name(to), " has ", int{to.lanes}, " lanes");
    }
    shape = shape.first(shape.size() - 1);
  }
  // The bits beside padded and packed values are 0, so that equal arrays have equal bytes.
  core::Array out = core::new_array(to, shape, /*zeroed=*/to.is_sub_byte());
  for_each_index(core::size_of(shape), [&](std::int64_t i) {
    for (int lane = 0; lane < to.lanes; ++lane) {
      const auto from = static_cast<std::size_t>(spread ? 0 : i * to.lanes + lane);
      write_scalar(to, out.data, i * to.stored_bits() + lane * to.bits, numbers_[from].get());
    }
  });
  return out;
}

}  // namespace

core::Array array_of_nested(State& state, PyObject* object, const core::DType* dtype) {
  NestedReader reader(state);
  reader.read(object);
  return reader.store(dtype);
}

}  // namespace refarray::extension
