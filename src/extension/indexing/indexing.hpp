// Index: the entries of an index, each read once, before any axis is placed. Selection and
// assignment by an index that has been read, and what a strict namespace takes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/array.hpp"
#include "extension/capi/errors.hpp"
#include "extension/objects/array_object.hpp"

namespace refarray::extension {

enum class EntryKind : std::uint8_t { kInteger, kSlice, kEllipsis, kNewAxis, kIndices, kMask };

/// One entry of an index. Nothing in it runs user code any more.
struct IndexEntry {
  EntryKind kind;
  bool is_array;       // given as an array of the namespace, of which kInteger is one of ndim 0
  int axes;            // of the indexed array that the entry is for; of '...' after place()
  int axis;            // the first of them, after place()
  PyObject* object;    // the slice, the array of kIndices and kMask, or an int beyond int64
  std::int64_t start;  // of a slice, as PySlice_Unpack() reads it; the integer
  Py_ssize_t stop, step;

  bool has_array() const noexcept {
    return kind == EntryKind::kIndices || kind == EntryKind::kMask;
  }
  core::ArrayView array() const noexcept { return view_of(object); }
  /// Whether its array has to be where the indexed one is: not one made here of a list or a bool.
  bool names_device() const noexcept {
    return has_array() && (is_array || !array().device().is_host());
  }
  /// Whether it is one of the arrays that are broadcast against each other, or an integer.
  bool is_in_block() const noexcept { return kind == EntryKind::kInteger || has_array(); }
};

/// An entry that needs nothing beside it, read into `out`: an int or a slice. False for others.
inline bool read_simple(PyObject* index, IndexEntry& out) {
  out.is_array = false;
  out.axes = 1;
  out.object = index;
  if (PyLong_CheckExact(index)) {
    int overflow = 0;
    out.kind = EntryKind::kInteger;
    out.start = PyLong_AsLongLongAndOverflow(index, &overflow);  // an int: cannot fail
    if (overflow == 0) out.object = nullptr;
    return true;
  }
  if (!PySlice_Check(index)) return false;
  out.kind = EntryKind::kSlice;
  Py_ssize_t start = 0;
  check(calling<PySlice_Unpack>(index, &start, &out.stop, &out.step));
  out.start = start;
  return true;
}

class Index {
 public:
  /// Reads an entry or a tuple of entries, which runs the user code of __index__, and of sequences
  /// and other libraries' arrays, which become arrays. `index` must outlive this.
  Index(State& state, PyObject* index);
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  std::span<const IndexEntry> entries() const noexcept { return entries_; }
  int count(EntryKind kind) const noexcept { return counts_[static_cast<std::size_t>(kind)]; }
  bool has_arrays() const noexcept {
    return count(EntryKind::kIndices) + count(EntryKind::kMask) > 0;
  }

  /// Sets the axes of the entries in an array of `ndim` axes; returns the number of axes that they
  /// are for. Throws kIndex if they are too many, or for a second '...'.
  int place(int ndim);

  /// Puts replace(array), which has the same shape and dtype, in the place of each array that names
  /// a device.
  template <class Replace>
  void replace_arrays(Replace replace) {
    for (IndexEntry& entry : entries_)
      if (entry.names_device()) entry.object = hold(replace(entry.object));
  }

 private:
  static constexpr std::size_t kFew = 8;

  void read(State& state, PyObject* index, IndexEntry& out);
  void read_number(Ref number, IndexEntry& out);
  PyObject* hold(Ref object);

  std::span<IndexEntry> entries_;
  std::array<int, 6> counts_{};  // by kind
  std::int64_t axes_ = 0;        // that the entries are for, without '...'
  std::vector<Ref> held_;        // what reading made
  std::unique_ptr<IndexEntry[]> many_;
  IndexEntry few_[kFew];  // without an allocation, for nearly every index
};

/// The normalized position of an entry of kInteger, in [0, extent). Throws kIndex.
std::int64_t position_of(const IndexEntry& entry, std::int64_t extent);

// --- Of strict namespaces.

enum class IndexUse { kRead, kAssign };

/// An entry that is no slice, '...', None or array of the namespace: throws kIndex unless it is an
/// integer.
void require_standard_entry(PyObject* object);

/// Throws kIndex unless the standard promises the result of the index: one entry for each axis or
/// '...', a mask alone, integer arrays beside integers. An assignment takes neither None nor
/// integer arrays. What is wrong in every namespace is left to the selection, which calls
/// require_standard_slice().
void require_standard_index(const State& state, const core::ArrayView& array, const Index& index,
                            IndexUse use);

/// Throws kIndex for a bound beyond the axis of the extent, unless it is None, which stands for the
/// largest or smallest number.
void require_standard_slice(const IndexEntry& slice, std::int64_t extent);

// --- Selection and assignment.

// Not inlined, because the caller has read an index: the user code that ran meanwhile, and may have
// called refarray again, needs no frame with layouts below it.

/// What x[index] is.
[[gnu::noinline]] Ref subscript(State& state, const core::ArrayView& array, Index& index);

/// Throws TypeError for `del x[index]`, whose value is nullptr, and ValueError for a read-only
/// array.
void require_assignable(PyObject* self, PyObject* value);
/// x[index] = value, for an assignable array.
[[gnu::noinline]] void assign(PyObject* self, Index& index, PyObject* value);

/// The value of an assignment as an array: of `to`, or of a dtype that promotes to it. It is in
/// `element` or belongs to `owner`.
core::ArrayView assigned_value(State& state, PyObject* value, const core::DType& to,
                               std::byte (&element)[16], Ref& owner);

}  // namespace refarray::extension
