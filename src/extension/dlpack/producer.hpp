// Foreign DLPack producers: looking up their methods and exchange table on the type, and calling
// them.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"
#include "extension/module/state.hpp"
#include "refarray/dlpack/managed.hpp"

namespace refarray::extension {

/// The DLPack interface of a type. Pointers are borrowed from the module's cache of producer types,
/// or from `references` when the type has just been looked up.
struct ProducerInfo {
  PyObject* dlpack = nullptr;                // the descriptor __dlpack__, if any
  PyObject* dlpack_device = nullptr;         // the descriptor __dlpack_device__, if any
  const DLPackExchangeAPI* table = nullptr;  // usable; own or inherited together with __dlpack__
  bool host_only = false;                    // its data is always on the CPU: need not be asked
  bool methods_known = false;                // the two descriptors have been looked up
  Ref references[2];  // keep the descriptors if the type is changed meanwhile

  bool has_methods() const noexcept { return dlpack != nullptr && dlpack_device != nullptr; }
};

/// Looks up everything about the type of `x`, and caches what cannot change: all of it for an
/// immutable type, only the table for a mutable one (CAPI-03). Throws what a metaclass raises, and
/// ProtocolRefused for a masked array of NumPy.
ProducerInfo look_up_producer(State& state, PyObject* x);

/// The DLPack interface of the type of `x`, from the cache if possible. For a mutable type the
/// cache has only the table: find_methods() adds the methods.
inline ProducerInfo find_producer(State& state, PyObject* x) {
  const Producer* cached = state.find_producer(reinterpret_cast<PyObject*>(Py_TYPE(x)));
  if (cached == nullptr) return look_up_producer(state, x);
  return {cached->dlpack,    cached->dlpack_device,     cached->table,
          cached->host_only, cached->dlpack != nullptr, {}};
}

/// Looks up the two methods unless that has been done.
void find_methods(const State& state, PyObject* x, ProducerInfo& producer);

/// AttributeError naming the methods that the type lacks (CONS-02, A-40).
[[noreturn]] void raise_missing_methods(PyObject* x, const ProducerInfo& producer);

/// Calls __dlpack_device__. TypeError for an answer that is not a pair of ints (DEV-01).
DLDevice call_dlpack_device(PyObject* x, const ProducerInfo& producer);

/// Calls managed_tensor_from_py_object_no_sync. Throws the exception that it set, or a BufferError
/// when it failed without one. The tensor is not NULL.
dlpack::Managed<DLManagedTensorVersioned> call_table(const DLPackExchangeAPI& table, PyObject* x);

/// Keyword arguments for __dlpack__; borrowed, nullptr leaves one out (CONS-09).
struct DlpackArguments {
  PyObject* max_version;
  PyObject* stream = nullptr;
  PyObject* dl_device = nullptr;
  PyObject* copy = nullptr;
  bool needs_dl_device = false;  // the data is on another device: a retry cannot omit dl_device
};

/// Calls __dlpack__. A TypeError may mean that the producer is too old for a keyword: then it is
/// called once more without the newer ones, unless the request depends on them (CONS-04, A-41).
Ref call_dlpack(const State& state, PyObject* x, const ProducerInfo& producer,
                const DlpackArguments& arguments);

/// The attribute `name` of the object's type, unbound, found along the MRO in the types' __dict__.
/// Empty when there is none.
Ref find_on_type_of(const State& state, PyObject* object, PyObject* name);

/// Calls a descriptor found on the type, bound as special methods are. args[0] is the object.
Ref call_on_type(PyObject* descriptor, PyObject* const* args, std::size_t count, PyObject* kwnames);

}  // namespace refarray::extension
