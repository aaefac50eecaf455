// Allocation and deallocation of array objects, and the release of their storage.
#include "extension/objects/array_object.hpp"

#include <new>
#include <utility>

#include "extension/capi/driver_calls.hpp"
#include "extension/capi/object_pool.hpp"
#include "extension/objects/watched_arrays.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

static_assert(compat::kFreeThreading || sizeof(void*) != 8 || sizeof(ArrayObject) == 64,
              "an array of rank 4 must fit 128 bytes");

static_assert(sizeof(ArrayObject) % alignof(std::int64_t) == 0, "shape and strides follow it");

ArrayObject* cast(PyObject* self) noexcept { return own_struct<ArrayObject>(self); }

/// An array of a namespace with poisoned views, listed there; nullptr with MemoryError set when out
/// of memory.
[[gnu::cold, gnu::noinline]] PyObject* allocate_watched(const State& state,
                                                        Py_ssize_t ndim) noexcept {
  PyObject* object = new_var_object<ArrayObject>(state.array_type(), ndim);
  if (object == nullptr) return nullptr;
  ArrayObject* self = cast(object);
  self->storage = nullptr;
  self->weakrefs = nullptr;
  self->bits = state.object_bits;
  try {  // boundary: callers expect nullptr
    watch(state, object);
    return object;
  } catch (const std::bad_alloc&) {
    Ref::steal(object);
    PyErr_NoMemory();
    return nullptr;
  }
}

[[gnu::cold, gnu::noinline]] void free_watched(PyObject* self) noexcept {
  unwatch(self);
  PyObject_Free(self);
}

// Both are out of line, with a call at the end: pooled objects, and so most exchanges, do not pay
// for the test.

[[gnu::noinline]] PyObject* allocate_unpooled(const State& state, Py_ssize_t ndim) noexcept {
  if (state.watched != nullptr) [[unlikely]]
    return allocate_watched(state, ndim);
  return new_var_object<ArrayObject>(state.array_type(), ndim);
}

[[gnu::noinline]] void free_unpooled(PyObject* self) noexcept {
  if (is_watched(self)) [[unlikely]]
    return free_watched(self);
  PyObject_Free(self);
}

/// nullptr with MemoryError set when out of memory.
PyObject* allocate(const State& state, Py_ssize_t ndim) noexcept {
  PyObject* object = nullptr;
  void* pooled = state.pools_objects() ? object_pool.take(ndim) : nullptr;
  if (pooled != nullptr) {
    PyObject_InitVar(static_cast<PyVarObject*>(pooled), state.array_type(), ndim);
    object = static_cast<PyObject*>(pooled);
  } else {
    object = allocate_unpooled(state, ndim);
    if (object == nullptr) return nullptr;
  }
  cast(object)->weakrefs = nullptr;
  return object;
}

[[gnu::noinline]] void destroy_without_gil(core::Storage* storage) noexcept {
  const DriverCalls here(!compat::is_finalizing());
  storage->destroy();  // [8] last drop
  runtime::collect(runtime::Wait::kForNothing);
}

/// After drop() returned true.
void destroy_storage(core::Storage* storage) noexcept {
  // A driver call may wait for a thread that needs the GIL. Foreign deleters get it back, except at
  // interpreter exit, when a thread that has released it does not get it again.
  if (storage->tracked() && !(storage->foreign() && compat::is_finalizing()))
    return destroy_without_gil(storage);
  if (!storage->foreign()) return storage->destroy();
  const ErrorGuard guard;
  const Attached here;
  storage->destroy();                   // [8] last drop
  if (here.is_at_end()) [[unlikely]] {  // at interpreter exit nothing else collects later
    const runtime::MayWait now;
    runtime::collect_foreign();
  }
}

}  // namespace

void ObjectPool::close() noexcept {
  if (--users_ > 0) return;
  for (Py_ssize_t ndim = 0; ndim < kRanks; ++ndim) {
    while (counts_[ndim] > 0) PyObject_Free(blocks_[ndim][--counts_[ndim]]);
  }
}

void drop_storage(core::StoragePtr storage) noexcept {
  if (!storage) return;
  core::Storage* dropped = storage.release();
  if (dropped->drop()) destroy_storage(dropped);
}

void set_storage(PyObject* array, core::StoragePtr storage) noexcept {
  // Ownership moves here: nothing after it can fail.
  if constexpr (compat::kFreeThreading) {
    if (is_watched(array)) [[unlikely]]
      return set_watched_storage(array, storage.release());
  }
  cast(array)->storage = storage.release();
}

Ref make_array(const State& state, const core::ArrayView& view, core::StoragePtr storage,
               bool first) {
  PyObject* object = allocate(state, view.ndim);
  if (object == nullptr) {
    drop_storage(std::move(storage));
    throw ErrorSet{};
  }
  ArrayObject* self = cast(object);
  self->data = view.data;
  self->dtype = view.dtype;
  self->bits = static_cast<std::uint8_t>(state.object_bits | (view.bit & ObjectBits::kBit) |
                                         (view.readonly ? ObjectBits::kReadonly : 0) |
                                         (first ? ObjectBits::kFirst : 0));
  for (int i = 0; i < view.ndim; ++i) {
    self->dims()[i] = view.shape[i];
    self->dims()[view.ndim + i] = view.strides[i];
  }
  set_storage(object, std::move(storage));
  return Ref::steal(object);
}

Ref alias_array(const State& state, PyObject* aliased) {
  ArrayObject* from = cast(aliased);
  const Py_ssize_t ndim = items_of<ArrayObject>(aliased);
  PyObject* object = allocate(state, ndim);
  if (object == nullptr) throw ErrorSet{};
  ArrayObject* self = cast(object);
  if constexpr (!compat::kFreeThreading) self->storage = from->storage;
  self->data = from->data;
  self->dtype = from->dtype;
  constexpr std::uint8_t kOfView = ObjectBits::kBit | ObjectBits::kReadonly;
  self->bits = static_cast<std::uint8_t>(state.object_bits | (from->bits & kOfView));
  for (Py_ssize_t i = 0; i < 2 * ndim; ++i) self->dims()[i] = from->dims()[i];
  if constexpr (compat::kFreeThreading)
    set_storage(object, core::StoragePtr::share(from->storage));
  else
    self->storage->retain();
  return Ref::steal(object);
}

std::size_t bytes_owned(PyObject* object) noexcept {
  const ArrayObject* self = cast(object);
  const auto axes = 2 * static_cast<std::size_t>(items_of<ArrayObject>(object));
  const auto* end = reinterpret_cast<const std::byte*>(self + 1);
  const auto fixed = static_cast<std::size_t>(end - reinterpret_cast<std::byte*>(object));
  const std::size_t size = fixed + axes * sizeof(std::int64_t);
  const bool counts = self->first() || self->storage->is_last_reference();
  return counts ? size + self->storage->host_block() : size;
}

void array_dealloc(PyObject* object) noexcept {
  ArrayObject* self = cast(object);
  compat::clear_weakrefs(object, self->weakrefs);
  const Ref type =
      Ref::steal(reinterpret_cast<PyObject*>(Py_TYPE(object)));  // instances own their heap type
  core::Storage* storage = self->storage;
  const Py_ssize_t ndim = items_of<ArrayObject>(object);
  if (!self->pooled() || !object_pool.give(object, ndim)) free_unpooled(object);
  if (storage != nullptr && storage->drop()) destroy_storage(storage);
}

// --- The arrays of namespaces with poisoned views.

void watch_arrays(State& state) {
  state.watched = new WatchedArrays;
  state.object_bits |= ObjectBits::kWatched;
}

void free_watched_arrays(State& state) noexcept { delete std::exchange(state.watched, nullptr); }

void watch(const State& state, PyObject* array) { state.watched->add(array); }

void unwatch(PyObject* array) noexcept { State::of_object(array).watched->remove(array); }

void set_watched_storage(PyObject* array, core::Storage* storage) noexcept {
  State::of_object(array).watched->locked(
      [&](const std::vector<PyObject*>&) { cast(array)->storage = storage; });
}

}  // namespace refarray::extension
