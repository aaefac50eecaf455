// Owns the module state: every Python object that a module instance keeps, in one list, and how to
// reach it.
#pragma once

#include <Python.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/memory/storage.hpp"
#include "extension/capi/ref.hpp"
#include "refarray/core/dtype.hpp"

struct DLPackExchangeAPI;

namespace refarray::extension {

class InterpreterLease;

/// Keyword names, interned, so that binding compares pointers first. kKeywordTexts has their
/// spelling in this order.
enum class Key : std::uint8_t {
  kStream,
  kMaxVersion,
  kDlDevice,
  kCopy,
  kDevice,
  kDtype,
  kX,
  kObj,
  kShape,
  kFillValue,
  kStart,
  kStop,
  kStep,
  kAxes,
  kAxis,
  kSource,
  kDestination,
  kCapsule,
  kApiVersion,
  kCount
};
inline constexpr std::array<const char*, static_cast<std::size_t>(Key::kCount)> kKeywordTexts{
    "stream", "max_version", "dl_device",   "copy",    "device",     "dtype", "x",
    "obj",    "shape",       "fill_value",  "start",   "stop",       "step",  "axes",
    "axis",   "source",      "destination", "capsule", "api_version"};

/// The other objects of the state.
enum class Slot : std::uint8_t {
  kArrayType,
  kDTypeType,
  kDeviceType,
  kNoCopyError,
  kDriverError,
  kStreamType,
  kEventType,
  kCpuDevice,
  kDlpackName,         // "__dlpack__"
  kDlpackDeviceName,   // "__dlpack_device__"
  kExchangeName,       // "__dlpack_c_exchange_api__"
  kMroName,            // "__mro__"
  kDictName,           // "__dict__"
  kInterfaceName,      // "__array_interface__"
  kCudaInterfaceName,  // "__cuda_array_interface__"
  kArrayMethodName,    // "__array__"
  kKwCopy,             // ("copy",)
  kOurVersion,         // (major, minor) of our DLPack
  kKwMaxVersion,       // ("max_version",)
  kCpuPair,            // (1, 0): kDLCPU as a dl_device names it
  kExchangeCapsule,    // our own table
  kCpuDlpackDevice,    // (DLDeviceType.kDLCPU, 0), made at the first __dlpack_device__()
  kExitHook,           // what atexit calls, once memory of a device has come in
  kCount
};

/// What is known about a type whose objects came in before. Written once, never changed: read
/// without a lock.
struct Producer {
  PyObject* type;           // strong, so that the address cannot be another type's one day
  PyObject* dlpack;         // strong: the __dlpack__ descriptor of an immutable type, or nullptr
  PyObject* dlpack_device;  // strong: likewise
  const DLPackExchangeAPI* table;  // usable, or nullptr
  bool host_only;  // its arrays are in host memory by definition: no stream to choose
};

class State {
 public:
  static State& of_module(PyObject* module) noexcept {
    return *static_cast<State*>(PyModule_GetState(module));
  }
  /// From an array, a dtype or a device: their types are final, so the type's module is ours.
  static State& of_object(PyObject* object) noexcept {
    return *static_cast<State*>(PyType_GetModuleState(Py_TYPE(object)));
  }
  /// Where the interpreter's dict keeps the module.
  static constexpr const char* kInterpreterKey = "refarray._native";
  /// The module that this interpreter imported last; empty when it has none. For C callers only:
  /// its state lives as long as the reference does, since another thread may import a new one.
  static Ref module_of_current_interpreter() noexcept;

  PyObject* get(Slot slot) const noexcept {
    return slots_[static_cast<std::size_t>(slot)].load(std::memory_order_acquire);
  }
  PyObject* get(Key key) const noexcept { return keys_[static_cast<std::size_t>(key)]; }
  PyTypeObject* array_type() const noexcept {
    return reinterpret_cast<PyTypeObject*>(get(Slot::kArrayType));
  }
  PyTypeObject* dtype_type() const noexcept {
    return reinterpret_cast<PyTypeObject*>(get(Slot::kDTypeType));
  }
  PyTypeObject* device_type() const noexcept {
    return reinterpret_cast<PyTypeObject*>(get(Slot::kDeviceType));
  }
  /// The interned object of a scalar dtype: `row` of core::kScalars.
  PyObject* scalar_dtype(int row) const noexcept { return dtypes_[static_cast<std::size_t>(row)]; }

  void set(Slot slot, Ref object) noexcept;
  /// For what is made when first needed: the first object stays, whoever made it. Returns the one
  /// that stayed.
  PyObject* set_once(Slot slot, Ref object) noexcept;
  void set_scalar_dtype(int row, Ref object) noexcept;
  /// Keywords, names, versions: all that needs no type of ours. Throws ErrorSet.
  void fill_names();

  /// A remembered producer type, or nullptr.
  const Producer* find_producer(PyObject* type) const noexcept;
  /// Remembers one if there is room; references are taken, not stolen.
  void remember_producer(const Producer& producer) noexcept;

  InterpreterLease* lease = nullptr;  // one reference, given back by clear()
  bool pools_objects = false;         // the main interpreter's, and a build with a GIL (pool.hpp)

  int traverse(visitproc visit, void* argument) noexcept;
  void clear() noexcept;

 private:
  static constexpr std::size_t kProducerSlots = 16;
  static std::size_t producer_slot(PyObject* type) noexcept {
    return (reinterpret_cast<std::uintptr_t>(type) >> 4) % kProducerSlots;
  }

  // Zeroed by the interpreter before the module runs, and again here.
  std::array<std::atomic<PyObject*>, static_cast<std::size_t>(Slot::kCount)> slots_{};
  std::array<PyObject*, static_cast<std::size_t>(Key::kCount)> keys_{};
  std::array<PyObject*, core::kScalars.size()> dtypes_{};
  std::array<std::atomic<Producer*>, kProducerSlots> producers_{};
};

}  // namespace refarray::extension
