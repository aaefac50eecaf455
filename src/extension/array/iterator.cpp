// The iterator over axis 0 of an array. Unlike CPython's sequence iterator it is safe when threads
// share it without a GIL: it keeps its array until it is deallocated, and its position is atomic.
#include <algorithm>
#include <atomic>
#include <new>

#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {
namespace {

constexpr char kIteratorDoc[] = R"doc(An iterator over axis 0 of an array: iter(x).

It keeps the array alive. Threads may share it: each item goes to one of them.)doc";

constexpr char kIteratorLengthHintDoc[] = "The number of items left, an int.";

constexpr char kIteratorReduceDoc[] = "Pickles the array and the position.";

constexpr char kIteratorSetStateDoc[] =
    "Set the position, an int, clipped to the extent of axis 0. Raises TypeError for other types.";

struct IteratorObject {
  [[no_unique_address]] Head head;
  PyObject* array;  // one reference; an array with ndim >= 1
  std::atomic<std::int64_t> position;
};

IteratorObject& cast(PyObject* self) noexcept { return *own_struct<IteratorObject>(self); }

constexpr std::int64_t kItemsPerCheck = 4096;  // list(x), min(x) and their like check no signals

std::int64_t length_of(PyObject* self) noexcept { return view_of(cast(self).array).shape[0]; }

/// tp_iternext: an empty Ref without an exception at the end. Each position is given out once.
Ref next_item(PyObject* self) {
  std::atomic<std::int64_t>& position = cast(self).position;
  const std::int64_t length = length_of(self);
  std::int64_t index = position.load(std::memory_order_relaxed);
  do {
    if (index >= length) return {};
  } while (!position.compare_exchange_weak(index, index + 1, std::memory_order_relaxed));
  if (index % kItemsPerCheck == kItemsPerCheck - 1) check(calling<PyErr_CheckSignals>());
  return array_item(cast(self).array, python_length(index));
}

Ref length_hint(PyObject* self, PyObject*) {
  return check(PyLong_FromLongLong(length_of(self) - cast(self).position.load()));
}

/// (iter, (array,), position), as of CPython's iterators.
Ref reduce(PyObject* self, PyObject*) {
  const Ref builtins = check(calling<PyImport_ImportModule>("builtins"));
  const Ref iter = check(PyObject_GetAttrString(builtins.get(), "iter"));
  return check(calling<Py_BuildValue>("O(O)L", iter.get(), cast(self).array,
                                      static_cast<long long>(cast(self).position.load())));
}

Ref set_state(PyObject* self, PyObject* state) {
  const std::int64_t position = to_int64(state, "the position");
  cast(self).position = std::clamp<std::int64_t>(position, 0, length_of(self));
  return Ref::borrow(Py_None);
}

void dealloc(PyObject* self) noexcept {
  const Ref type =
      Ref::steal(reinterpret_cast<PyObject*>(Py_TYPE(self)));  // instances own their heap type
  const Ref array = Ref::steal(cast(self).array);
  PyObject_Free(self);
}

}  // namespace

Ref array_iter(PyObject* self) {
  if (view_of(self).ndim == 0) raise(PyExc_TypeError, "iteration over an array of ndim 0");
  auto* type = reinterpret_cast<PyTypeObject*>(State::of_object(self).get(Slot::kIteratorType));
  PyObject* made = PyObject_New(PyObject, type);
  if (made == nullptr) throw ErrorSet{};
  cast(made).array = Ref::borrow(self).release();
  ::new (&cast(made).position) std::atomic<std::int64_t>(0);
  return Ref::steal(made);
}

Ref make_iterator_type(PyObject* module) {
  static PyMethodDef methods[] = {
      {"__length_hint__", method<&length_hint>(), METH_NOARGS, kIteratorLengthHintDoc},
      {"__reduce__", method<&reduce>(), METH_NOARGS, kIteratorReduceDoc},
      {"__setstate__", method<&set_state>(), METH_O, kIteratorSetStateDoc},
      {nullptr, nullptr, 0, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(kIteratorDoc)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
      {Py_tp_iter, reinterpret_cast<void*>(&PyObject_SelfIter)},
      {Py_tp_iternext, slot_pointer<&next_item>()},
      {Py_tp_methods, methods},
      {0, nullptr},
  };
  constexpr auto kFlags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  PyType_Spec spec{"refarray.ArrayIterator", kBasicSize<IteratorObject>, 0, kFlags, slots};
  return compat::make_immortal(check(compat::new_type(module, &spec)));
}

}  // namespace refarray::extension
