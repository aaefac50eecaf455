// A native thread that alternates a managed tensor's fields between valid and invalid values while
// other threads import it.
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "parts.hpp"

namespace adversary {
namespace {

/// Relaxed atomic stores: a reader sees the old or the new value of a field, never a torn one.
template <class T>
void store(T& field, T value) noexcept {
  std::atomic_ref<T>(field).store(value, std::memory_order_relaxed);
}

struct Flipper {
  std::atomic<bool> stop{false};
  std::atomic<long> turns{0};
  std::thread thread;
};
std::unique_ptr<Flipper> flipper;

/// Alternates between the `valid` fields and fields that every consumer must reject.
void flip(Flipper& self, DLTensor& tensor, const DLTensor& valid) noexcept {
  const std::int64_t length = valid.shape[0];
  while (!self.stop.load(std::memory_order_relaxed)) {
    store(tensor.ndim, -1);
    store(tensor.shape, static_cast<std::int64_t*>(nullptr));
    store(tensor.strides, static_cast<std::int64_t*>(nullptr));
    store(valid.shape[0], std::int64_t{1} << 62);
    store(tensor.byte_offset, ~std::uint64_t{0});
    store(tensor.data, static_cast<void*>(nullptr));
    store(tensor.byte_offset, valid.byte_offset);
    store(tensor.data, valid.data);
    store(tensor.strides, valid.strides);
    store(valid.shape[0], length);
    store(tensor.shape, valid.shape);
    store(tensor.ndim, valid.ndim);
    self.turns.fetch_add(1, std::memory_order_relaxed);
  }
}

PyObject* start_flipping(PyObject*, PyObject* tensor) {
  return guarded([&] {
    if (!is_tensor(tensor)) fail(PyExc_TypeError, "%R is not an adversary.Tensor", tensor);
    if (flipper) fail(PyExc_RuntimeError, "a tensor is being flipped already");
    DLTensor& fields = *struct_of<TensorObject>(tensor).tensor->dl_tensor();
    flipper = std::make_unique<Flipper>();
    flipper->thread = std::thread(
        [&self = *flipper, &fields, valid = fields]() noexcept { flip(self, fields, valid); });
    while (flipper->turns.load() == 0) std::this_thread::yield();
    return Py_NewRef(Py_None);
  });
}

/// Stops the thread, with valid fields in place. Returns how often they were rewritten.
PyObject* stop_flipping(PyObject*, PyObject*) {
  return guarded([] {
    if (!flipper) fail(PyExc_RuntimeError, "nothing is being flipped");
    flipper->stop = true;
    flipper->thread.join();
    const long turns = flipper->turns;
    flipper.reset();
    return PyLong_FromLong(turns);
  });
}

PyMethodDef functions[] = {
    {"start_flipping", start_flipping, METH_O,
     "Start to rewrite a tensor's fields in a native thread."},
    {"stop_flipping", stop_flipping, METH_NOARGS,
     "Stop; return how often the fields were rewritten."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_flipper(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace adversary
