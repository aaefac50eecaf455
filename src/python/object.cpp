// Owns the memory of array objects: allocation, the last drop, and nothing else.
#include "object.hpp"

#include "errors.hpp"
#include "gil.hpp"

namespace refarray::python {
namespace {

static_assert(sizeof(ArrayObject) == 56,
              "an array of rank 4 must fit 120 bytes (128 with the allocator's rounding)");

ArrayObject* cast(PyObject* self) noexcept { return reinterpret_cast<ArrayObject*>(self); }

/// nullptr with MemoryError set when there is no memory.
ArrayObject* allocate(const State& state, Py_ssize_t ndim) noexcept {
  auto* self = PyObject_NewVar(ArrayObject, state.array_type(), ndim);
  if (self != nullptr) self->weakrefs = nullptr;
  return self;
}

void release_storage(core::Storage* storage) noexcept {
  if (!storage->foreign() || !storage->is_last_reference()) return storage->release();
  const ErrorGuard guard;
  const Attached here(PyInterpreterState_Get());
  storage->release();  // [8] last drop
}

}  // namespace

core::ArrayView view_of(PyObject* object) noexcept {
  ArrayObject* self = cast(object);
  const auto ndim = static_cast<int>(Py_SIZE(object));
  const std::int64_t* dims = self->dims();
  return {self->storage,  self->data, self->dtype, self->bit,
          self->readonly, ndim,       dims,        dims + ndim};
}

void drop_storage(core::StoragePtr storage) noexcept {
  if (storage) release_storage(storage.release());
}

bool is_any_array(PyObject* object) noexcept {
  return PyType_GetSlot(Py_TYPE(object), Py_tp_dealloc) == reinterpret_cast<void*>(&array_dealloc);
}

Ref make_array(const State& state, const core::ArrayView& view, core::StoragePtr storage) {
  ArrayObject* self = allocate(state, view.ndim);
  if (self == nullptr) {
    drop_storage(std::move(storage));
    throw ErrorSet{};
  }
  self->data = view.data;
  self->dtype = view.dtype;
  self->bit = view.bit;
  self->readonly = view.readonly;
  for (int i = 0; i < view.ndim;
       ++i) {  // a loop: ranks are small, and it may read what it just wrote
    self->dims()[i] = view.shape[i];
    self->dims()[view.ndim + i] = view.strides[i];
  }
  self->storage = storage.release();  // ownership moves here: nothing after it can fail
  return Ref::steal(reinterpret_cast<PyObject*>(self));
}

Ref alias_array(const State& state, PyObject* object) {
  ArrayObject* from = cast(object);
  const Py_ssize_t ndim = Py_SIZE(object);
  ArrayObject* self = allocate(state, ndim);
  if (self == nullptr) throw ErrorSet{};
  self->storage = from->storage;
  self->data = from->data;
  self->dtype = from->dtype;
  self->bit = from->bit;
  self->readonly = from->readonly;
  for (Py_ssize_t i = 0; i < 2 * ndim; ++i) self->dims()[i] = from->dims()[i];
  self->storage->retain();
  return Ref::steal(reinterpret_cast<PyObject*>(self));
}

void array_dealloc(PyObject* object) noexcept {
  ArrayObject* self = cast(object);
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  PyTypeObject* type = Py_TYPE(object);
  core::Storage* storage = self->storage;
  PyObject_Free(object);
  if (storage != nullptr) release_storage(storage);
  Py_DECREF(type);
}

}  // namespace refarray::python
