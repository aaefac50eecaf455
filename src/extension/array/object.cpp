// Owns the memory of array objects: allocation, the last drop, and nothing else.
#include "extension/array/object.hpp"

#include "extension/array/pool.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/free_threading.hpp"
#include "extension/capi/gil.hpp"
#include "extension/devices/devices.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

static_assert(compat::kFreeThreading || sizeof(ArrayObject) == 64,
              "an array of rank 4 must fit 128 bytes");

ArrayObject* cast(PyObject* self) noexcept { return reinterpret_cast<ArrayObject*>(self); }

/// nullptr with MemoryError set when there is no memory.
ArrayObject* allocate(const State& state, Py_ssize_t ndim) noexcept {
  ArrayObject* self = nullptr;
  void* kept = state.pools_objects ? object_pool.take(ndim) : nullptr;
  if (kept != nullptr) {
    PyObject_InitVar(static_cast<PyVarObject*>(kept), state.array_type(), ndim);
    self = static_cast<ArrayObject*>(kept);
  } else {
    self = PyObject_NewVar(ArrayObject, state.array_type(), ndim);
    if (self == nullptr) return nullptr;
  }
  self->weakrefs = nullptr;
  self->pooled = state.pools_objects;
  self->grouped = false;
  return self;
}

[[gnu::noinline]] void destroy_without_gil(core::Storage* storage) noexcept {
  const DriverCalls here(!compat::is_finalizing());
  storage->destroy();  // [8] last drop
  runtime::collect(runtime::Wait::kForNothing);
}

/// The last drop.
void destroy_storage(core::Storage* storage) noexcept {
  if (!storage->foreign()) {
    // A driver that is asked to free may wait for somebody who wants the GIL.
    return storage->tracked() ? destroy_without_gil(storage) : storage->destroy();
  }
  const ErrorGuard guard;
  const Attached here;
  storage->destroy();                   // [8] last drop
  if (here.is_at_end()) [[unlikely]] {  // nobody else can run, and nobody will come by later
    const runtime::MayWait now;
    runtime::collect_foreign();
  }
}

}  // namespace

void drop_storage(core::StoragePtr storage) noexcept {
  if (!storage) return;
  core::Storage* dropped = storage.release();
  if (dropped->drop()) destroy_storage(dropped);
}

void set_storage(PyObject* array, core::StoragePtr storage) noexcept {
  ArrayObject* self = cast(array);
  self->storage = storage.release();  // ownership moves here: nothing after it can fail
  // A storage that has a group gets its reference back, to be lent again; others are seldom shared.
  if (self->pooled && self->storage != nullptr && self->storage->has_holders()) join_group(array);
}

Ref make_array(const State& state, const core::ArrayView& view, core::StoragePtr storage) {
  ArrayObject* self = allocate(state, view.ndim);
  if (self == nullptr) {
    drop_storage(std::move(storage));
    throw ErrorSet{};
  }
  self->data = view.data;
  self->dtype = view.dtype;
  self->bit = view.bit & 7U;
  self->readonly = view.readonly;
  for (int i = 0; i < view.ndim; ++i) {
    self->dims()[i] = view.shape[i];
    self->dims()[view.ndim + i] = view.strides[i];
  }
  set_storage(reinterpret_cast<PyObject*>(self), std::move(storage));
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
  if (self->pooled && join_group(object)) {
    self->storage->join();
    self->grouped = true;
  } else {
    self->storage->retain();
  }
  return Ref::steal(reinterpret_cast<PyObject*>(self));
}

void array_dealloc(PyObject* object) noexcept {
  ArrayObject* self = cast(object);
  compat::clear_weakrefs(object, self->weakrefs);
  PyTypeObject* type = Py_TYPE(object);
  core::Storage* storage = self->storage;
  const Py_ssize_t ndim = Py_SIZE(object);
  const bool grouped = self->grouped;
  if (!self->pooled || !object_pool.give(object, ndim)) PyObject_Free(object);
  if (storage != nullptr && (grouped ? storage->leave() : storage->drop())) {
    destroy_storage(storage);
  }
  Py_DECREF(type);
}

}  // namespace refarray::extension
