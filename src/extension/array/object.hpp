// Owns the Python array object: its memory, how to look at it as a core array, and how to make one
// from a core array.
#pragma once

#include <Python.h>

#include <cstdint>

#include "core/array.hpp"
#include "extension/capi/compat.hpp"
#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"

namespace refarray::extension {

/// Shape and strides follow the struct (ob_size is ndim), so an array is one allocation of 56 + 16
/// * ndim bytes. It refers to no Python object but its type, therefore it is not tracked by the
/// collector. Nobody but object.cpp touches the fields.
struct ArrayObject {
  PyVarObject head;
  PyObject* weakrefs;
  core::Storage* storage;  // one reference; nullptr only while the object is being made
  std::byte* data;
  core::DType dtype;
  std::uint8_t bit : 3;
  bool readonly : 1;
  bool pooled : 1;   // an array of the main interpreter, used under its GIL only: its memory may go
                     // to the object pool
  bool grouped : 1;  // such an array that holds the storage as one of the storage's group; else the
                     // array has a reference of its own

  std::int64_t* dims() noexcept { return reinterpret_cast<std::int64_t*>(this + 1); }
};

inline bool is_array(const State& state, PyObject* object) noexcept {
  return Py_TYPE(object) == state.array_type();
}

/// A look at `self`, which must be an array: valid while `self` lives.
inline core::ArrayView view_of(PyObject* object) noexcept {
  auto* self = reinterpret_cast<ArrayObject*>(object);
  const auto ndim = static_cast<int>(Py_SIZE(object));
  const std::int64_t* dims = self->dims();
  return {self->storage,  self->data, self->dtype, self->bit,
          self->readonly, ndim,       dims,        dims + ndim};
}

/// Whether the array is used under the main interpreter's GIL only.
inline bool is_of_main(PyObject* object) noexcept {
  return reinterpret_cast<ArrayObject*>(object)->pooled;
}

/// Makes the array one of its storage's group, if it may be.
inline bool join_group(PyObject* object) noexcept {
  auto* self = reinterpret_cast<ArrayObject*>(object);
  if (!self->pooled) return false;
  if (!self->grouped) {
    self->storage->join_with_reference();
    self->grouped = true;
  }
  return true;
}

/// A new reference to the array's storage, for somebody outside Python. The caller may touch
/// Python.
inline core::StoragePtr share_storage(PyObject* object) noexcept {
  core::Storage* storage = reinterpret_cast<ArrayObject*>(object)->storage;
  if (!join_group(object)) return core::StoragePtr::share(storage);
  storage->lend();
  return core::StoragePtr::steal(storage);
}

/// A new array object. `storage` moves in (and is dropped when this throws); `view.storage` is not
/// looked at.
Ref make_array(const State& state, const core::ArrayView& view, core::StoragePtr storage);
inline Ref make_array(const State& state, core::Array&& array) {
  const core::ArrayView view = array.view();
  return make_array(state, view, std::move(array.storage));
}
/// The storage of an array that has none yet.
void set_storage(PyObject* array, core::StoragePtr storage) noexcept;
/// As make_array, with a storage that is made only when nothing else can fail any more.
/// `make_storage` may throw.
template <class MakeStorage>
Ref make_array_around(const State& state, const core::ArrayView& view, MakeStorage make_storage) {
  Ref array = make_array(state, view, core::StoragePtr());
  set_storage(array.get(), make_storage());
  return array;
}
/// A second object over the same elements: the shortest way from an array to an array.
Ref alias_array(const State& state, PyObject* self);

/// Lets go of a storage from code that holds the GIL: a stranger's deleter may run, finds a pending
/// exception untouched afterwards, and cannot leave one of its own.
void drop_storage(core::StoragePtr storage) noexcept;

/// tp_dealloc.
void array_dealloc(PyObject* self) noexcept;

/// Whether `object` is an array of this extension, in whatever interpreter its type was made.
inline bool is_any_array(PyObject* object) noexcept {
  return compat::dealloc_of(Py_TYPE(object)) == reinterpret_cast<void*>(&array_dealloc);
}

}  // namespace refarray::extension
