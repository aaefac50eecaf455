// ArrayObject, the C struct of refarray.Array: conversion to and from core arrays, allocation and
// deallocation.
#pragma once

#include <cstdint>

#include "core/array.hpp"
#include "extension/capi/compat.hpp"
#include "extension/capi/own_struct.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// Shape and strides follow the struct (the number of items is ndim), so an array is a single
/// allocation of 64 + 16 * ndim bytes. It references no Python object except its type, so the
/// garbage collector does not track it; docs/lifetime.md has the consequence for cycles through its
/// storage. Only array_object.hpp and array_object.cpp access the fields.
struct ArrayObject {
  VarHead head;
  PyObject* weakrefs;
  core::Storage* storage;  // one reference; nullptr only during construction
  std::byte* data;
  core::DType dtype;
  std::uint8_t bits;  // ObjectBits

  std::uint8_t bit() const noexcept { return bits & ObjectBits::kBit; }
  bool readonly() const noexcept { return (bits & ObjectBits::kReadonly) != 0; }
  bool first() const noexcept { return (bits & ObjectBits::kFirst) != 0; }
  bool pooled() const noexcept { return (bits & ObjectBits::kPooled) != 0; }

  std::int64_t* dims() noexcept { return reinterpret_cast<std::int64_t*>(this + 1); }
};

inline bool is_array(const State& state, PyObject* object) noexcept {
  return Py_TYPE(object) == state.array_type();
}

/// A view of `object`, which must be an array; valid while `object` is alive.
inline core::ArrayView view_of(PyObject* object) noexcept {
  auto* self = own_struct<ArrayObject>(object);
  const auto ndim = static_cast<int>(items_of<ArrayObject>(object));
  const std::int64_t* dims = self->dims();
  return {self->storage,    self->data, self->dtype, self->bit(),
          self->readonly(), ndim,       dims,        dims + ndim};
}

/// The device of an array's memory.
inline core::Device memory_device(PyObject* object) noexcept {
  const core::Storage* storage = own_struct<ArrayObject>(object)->storage;
  return storage == nullptr ? core::Device{} : storage->device();
}

/// Whether the array is on a virtual device: only its namespace reads its memory.
inline bool is_off_host(PyObject* object) noexcept {
  return (own_struct<ArrayObject>(object)->bits & ObjectBits::kOffHost) != 0;
}

/// Whether the array is of a namespace with poisoned views.
inline bool is_watched(PyObject* object) noexcept {
  return (own_struct<ArrayObject>(object)->bits & ObjectBits::kWatched) != 0;
}

/// A new reference to the array's storage.
inline core::StoragePtr share_storage(PyObject* object) noexcept {
  return core::StoragePtr::share(own_struct<ArrayObject>(object)->storage);
}

/// A new array object. Takes ownership of `storage`, and drops it when this throws; ignores
/// `view.storage`. `first`: no other array has the storage yet.
Ref make_array(const State& state, const core::ArrayView& view, core::StoragePtr storage,
               bool first = false);
inline Ref make_array(const State& state, core::Array&& array) {
  const core::ArrayView view = array.view();
  const bool first = array.storage && array.storage->is_last_reference();
  return make_array(state, view, std::move(array.storage), first);
}
/// The bytes of the object and of the host memory that refarray allocated for it, which count for
/// the array that was made with them, or else for the only one that is left: sys.getsizeof().
std::size_t bytes_owned(PyObject* array) noexcept;
/// Sets the storage of an array that was made without one.
void set_storage(PyObject* array, core::StoragePtr storage) noexcept;
/// As make_array(), but calls `make_storage` after everything else that can fail. `make_storage`
/// may throw.
template <class MakeStorage>
Ref make_array_around(const State& state, const core::ArrayView& view, MakeStorage make_storage) {
  Ref array = make_array(state, view, core::StoragePtr());
  set_storage(array.get(), make_storage());
  return array;
}
/// A new array object over the same elements: from_dlpack() of an array of refarray.
Ref alias_array(const State& state, PyObject* self);

/// Drops a reference while the GIL is held. If the deleter of another library runs, the pending
/// exception is preserved, and an exception that the deleter raises is reported and cleared.
void drop_storage(core::StoragePtr storage) noexcept;

/// tp_dealloc.
void array_dealloc(PyObject* self) noexcept;

/// Whether `object` is an array of this extension, of any interpreter.
inline bool is_any_array(PyObject* object) noexcept {
  return compat::dealloc_of(Py_TYPE(object)) == reinterpret_cast<void*>(&array_dealloc);
}

}  // namespace refarray::extension
