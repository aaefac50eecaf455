// Owns a thread that rewrites the fields of one managed tensor between two states as fast as it
// can, while others import it.
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

/// Between the tensor as it was made and one that nobody may accept.
void flip(Flipper& self, DLTensor& tensor, const DLTensor& honest) noexcept {
  const std::int64_t length = honest.shape[0];
  while (!self.stop.load(std::memory_order_relaxed)) {
    store(tensor.ndim, -1);
    store(tensor.shape, static_cast<std::int64_t*>(nullptr));
    store(tensor.strides, static_cast<std::int64_t*>(nullptr));
    store(honest.shape[0], std::int64_t{1} << 62);
    store(tensor.byte_offset, ~std::uint64_t{0});
    store(tensor.data, static_cast<void*>(nullptr));
    store(tensor.byte_offset, honest.byte_offset);
    store(tensor.data, honest.data);
    store(tensor.strides, honest.strides);
    store(honest.shape[0], length);
    store(tensor.shape, honest.shape);
    store(tensor.ndim, honest.ndim);
    self.turns.fetch_add(1, std::memory_order_relaxed);
  }
}

PyObject* start_flipping(PyObject*, PyObject* tensor) {
  return guarded([&] {
    if (!is_tensor(tensor)) fail(PyExc_TypeError, "%R is no adversary.Tensor", tensor);
    if (flipper) fail(PyExc_RuntimeError, "a tensor is being flipped already");
    DLTensor& fields = *reinterpret_cast<TensorObject*>(tensor)->record->tensor();
    flipper = std::make_unique<Flipper>();
    flipper->thread = std::thread(
        [&self = *flipper, &fields, honest = fields]() noexcept { flip(self, fields, honest); });
    while (flipper->turns.load() == 0) std::this_thread::yield();
    return Py_NewRef(Py_None);
  });
}

/// Ends the thread; the tensor is honest again. How often it was flipped.
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
    {"start_flipping", start_flipping, METH_O, "Rewrites a tensor's fields in a native thread."},
    {"stop_flipping", stop_flipping, METH_NOARGS, "Ends that; how often they were rewritten."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_flipper(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace adversary
