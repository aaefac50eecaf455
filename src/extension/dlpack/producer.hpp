// Foreign DLPack producers: looking up their methods and exchange table on the type, and calling
// them.
#pragma once

#include "extension/capi/state.hpp"
#include "refarray/dlpack/managed.hpp"

namespace refarray::extension {

struct ImportRequest;

/// The DLPack interface of a type. Pointers are borrowed from the module's cache of static types,
/// or from `references` for other types, which are looked up at each import.
struct ProducerInfo {
  PyObject* dlpack = nullptr;                // the descriptor __dlpack__, if any
  PyObject* dlpack_device = nullptr;         // the descriptor __dlpack_device__, if any
  const DLPackExchangeAPI* table = nullptr;  // usable; only of a type that lacks a method
  bool is_ndarray = false;                   // exactly numpy.ndarray: its memory is the CPU's
  Ref references[2];  // keep the descriptors if the type is changed meanwhile

  bool has_methods() const noexcept { return dlpack != nullptr && dlpack_device != nullptr; }
};

/// Whether a type can neither change nor end.
inline bool is_static(PyTypeObject* type) noexcept {
  return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) == 0;
}

/// The usable exchange table in a capsule; nullptr for anything else.
const DLPackExchangeAPI* table_in(PyObject* capsule) noexcept;

/// The usable exchange table of a type, or nullptr. Throws what a metaclass raises.
const DLPackExchangeAPI* find_table(const State& state, PyTypeObject* type);

/// Looks up everything about the type of `x`, and remembers it if the type is static. Throws what a
/// metaclass raises, and ProtocolRefused for a masked array of NumPy.
ProducerInfo look_up_producer(State& state, PyObject* x);

/// The DLPack interface of the type of `x`, from the cache if possible.
inline ProducerInfo find_producer(State& state, PyObject* x) {
  const Producer* cached = state.find_producer(Py_TYPE(x));
  if (cached == nullptr) return look_up_producer(state, x);
  return {cached->dlpack, cached->dlpack_device, cached->table, cached->is_ndarray, {}};
}

/// AttributeError naming the methods that the type lacks (CONS-02, A-40).
[[noreturn]] void raise_missing_methods(PyObject* x, const ProducerInfo& producer);

/// The device that a producer announces. The tensor's own is classified by validate().
struct AnnouncedDevice {
  DLDevice named{kDLCPU, 0};
  std::optional<core::Device> device = core::Device{};  // nothing for an unsupported device type

  bool is_host() const noexcept { return device && device->is_host(); }
};

/// The answer of __dlpack_device__, which an ndarray is not asked for. TypeError for an answer that
/// is not a pair of ints (DEV-01).
AnnouncedDevice ask_device(const State& state, PyObject* x, const ProducerInfo& producer);

/// Throws kBuffer for a device that this process cannot use, before the producer does any work
/// (DEV-07), and kNoCopy for copy=False between devices.
void refuse_devices(const ImportRequest& request, const AnnouncedDevice& announced);

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

/// Calls __dlpack__. If it raises TypeError before it begins, the producer is too old for a
/// keyword: then it is called once more without the newer ones, unless the request depends on them
/// (CONS-04, A-41).
Ref call_dlpack(const State& state, PyObject* x, const ProducerInfo& producer,
                const DlpackArguments& arguments);

/// A descriptor found on the type, bound to an object.
Ref bind_on_type(PyObject* descriptor, PyObject* self);

/// Calls a descriptor found on the type, bound as special methods are. args[0] is the object.
Ref call_on_type(PyObject* descriptor, PyObject* const* args, std::size_t count, PyObject* kwnames);

}  // namespace refarray::extension
