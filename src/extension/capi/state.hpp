// Module state: every Python object that a module instance owns, and how to look the state up.
#pragma once

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
class WatchedArrays;

// --- The names of keyword arguments.

/// Interned keyword names, which argument binding compares by pointer first. kKeywordTexts holds
/// their spelling in the same order.
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
  kOrder,
  kRequestedSchema,
  kMin,
  kMax,
  kKind,
  kApiVersion,
  kKeepdims,
  kCorrection,
  kIncludeInitial,
  kN,
  kPrepend,
  kAppend,
  kIndices,
  kArrays,
  kRepeats,
  kShift,
  kRepetitions,
  kK,
  kNRows,
  kNCols,
  kNum,
  kEndpoint,
  kIndexing,
  kX1,
  kX2,
  kSide,
  kSorter,
  kInvert,
  kDescending,
  kStable,
  kNorm,
  kS,
  kD,
  kUpper,
  kMode,
  kFullMatrices,
  kOffset,
  kRtol,
  kOrd,
  kCount
};
inline constexpr std::array<const char*, static_cast<std::size_t>(Key::kCount)> kKeywordTexts{
    // clang-format off
    "stream", "max_version", "dl_device", "copy", "device", "dtype",
    "x", "obj", "shape", "fill_value", "start", "stop",
    "step", "axes", "axis", "source", "destination", "capsule",
    "order", "requested_schema", "min", "max", "kind", "api_version",
    "keepdims", "correction", "include_initial", "n", "prepend", "append",
    "indices", "arrays", "repeats", "shift", "repetitions", "k",
    "n_rows", "n_cols", "num", "endpoint", "indexing", "x1",
    "x2", "side", "sorter", "invert", "descending", "stable",
    "norm", "s", "d", "upper", "mode", "full_matrices",
    "offset", "rtol", "ord",
    // clang-format on
};

// --- Modes: what the arrays and functions of a namespace refuse.

/// A setting that one thread may change while others read it.
class Flag {
 public:
  Flag(bool value = false) noexcept : value_(value) {}
  Flag(const Flag& from) noexcept : value_(static_cast<bool>(from)) {}
  Flag& operator=(const Flag& from) noexcept {
    value_.store(static_cast<bool>(from), std::memory_order_relaxed);
    return *this;
  }
  operator bool() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> value_;
};

/// What the arrays and functions of a namespace refuse; the default namespace refuses nothing.
struct Modes {
  bool strict = false;            // what the standard does not promise
  bool immutable = false;         // writes to elements
  bool lazy = false;              // the conversion of elements to Python numbers
  Flag without_masks = false;     // indexing by masks
  Flag without_counting = false;  // functions whose results have shapes that depend on elements
  bool poison_views = false;      // writes to memory that others own too
  bool with_devices = false;      // devices besides kCpuDevice: a module and an array type for each
  bool off_host = false;          // access of others to the memory: it is of a virtual device
  // Of a strict namespace of an earlier version of the standard:
  Flag without_index_arrays = false;     // integer arrays as indices, which came with 2024.12
  Flag without_dlpack_keywords = false;  // arguments of __dlpack__() that came with 2023.12
};

// --- The state.

/// The objects other than keyword names in the state.
enum class Slot : std::uint8_t {
  kArrayType,
  kDTypeType,
  kDeviceType,
  kNoCopyError,
  kAxisError,
  kLinAlgError,
  kDriverError,
  kStreamType,
  kEventType,
  kIteratorType,
  kCpuDevice,          // of a namespace with devices: the one that its module is of
  kDlpackName,         // "__dlpack__"
  kDlpackDeviceName,   // "__dlpack_device__"
  kExchangeName,       // "__dlpack_c_exchange_api__"
  kMroGetter,          // type.__dict__["__mro__"]
  kDictGetter,         // type.__dict__["__dict__"]
  kInterfaceName,      // "__array_interface__"
  kCudaInterfaceName,  // "__cuda_array_interface__"
  kArrayMethodName,    // "__array__"
  kNumpyName,          // "numpy"
  kNumpyMaName,        // "numpy.ma"
  kMaskName,           // "mask"
  kArrayStructName,    // "__array_struct__"
  kBufferName,         // "__buffer__"
  kItemName,           // "item"
  kKwCopy,             // ("copy",)
  kOurVersion,         // (major, minor) of our DLPack
  kKwMaxVersion,       // ("max_version",)
  kCpuPair,            // (1, 0): kDLCPU as a dl_device argument
  kExchangeCapsule,    // of our own exchange table
  kCpuDlpackDevice,    // (DLDeviceType.kDLCPU, 0), created by the first __dlpack_device__()
  kMaskedArray,        // numpy.ma.MaskedArray, found in sys.modules
  kNdarray,            // numpy.ndarray, likewise
  kDtypeName,          // refarray._aliases.dtype_name, set by its first use
  kDeviceName,         // refarray._aliases.device_name, likewise
  kStrictDtypes,       // the DType objects of strict namespaces, made for the first one: a
                       // tuple like core::kScalars
  kStrictDevice,       // the CPU of strict namespaces, likewise; its type is that of their devices
  kExitHook,           // atexit callback, registered with the first import of device memory
  // Of namespaces other than the default one only: objects/namespace.hpp.
  kNamespace,  // what __array_namespace__() returns
  kBase,       // the module refarray._native
  kCount
};

/// The bits that an array object has besides its fields.
struct ObjectBits {
  static constexpr std::uint8_t kBit = 7;  // the bit offset of the first element in its byte
  static constexpr std::uint8_t kReadonly = 8;
  static constexpr std::uint8_t kFirst = 16;     // made with its storage, not as a view
  static constexpr std::uint8_t kPooled = 32;    // of the main interpreter in a build with a GIL
  static constexpr std::uint8_t kWatched = 64;   // listed in State::watched; never with kPooled
  static constexpr std::uint8_t kOffHost = 128;  // on a virtual device: Modes::off_host
};

/// Cached facts about a type that neither changes nor ends, whose objects were imported before: a
/// static type, or our own array type. Immutable once published, so it is read without a lock.
struct Producer {
  PyTypeObject* type;              // not owned
  PyObject* dlpack;                // strong; the __dlpack__ descriptor, or nullptr
  PyObject* dlpack_device;         // strong; the __dlpack_device__ descriptor, or nullptr
  const DLPackExchangeAPI* table;  // of a type without the two methods, or nullptr
  bool is_ndarray;                 // exactly numpy.ndarray
};

class State {
 public:
  static State& of_module(PyObject* module) noexcept {
    return *static_cast<State*>(PyModule_GetState(module));
  }
  /// The state of an Array, DType or Device. These types are final, so Py_TYPE() is our type.
  static State& of_object(PyObject* object) noexcept {
    return *static_cast<State*>(PyType_GetModuleState(Py_TYPE(object)));
  }
  /// Key of the module in the interpreter's dict.
  static constexpr const char* kInterpreterKey = "refarray._native";
  /// The module that the current interpreter imported last, or empty. For C callers, which have no
  /// module object. Hold the reference while using its state: another thread may import the module
  /// anew and drop this one.
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
  /// The DType object for entry `row` of core::kScalars.
  PyObject* scalar_dtype(core::ScalarType type) const noexcept {
    return dtypes_[static_cast<std::size_t>(type)];
  }

  void set(Slot slot, Ref object) noexcept;
  /// For objects created lazily: stores `object` unless another thread was first. Returns the
  /// stored object.
  PyObject* set_once(Slot slot, Ref object) const noexcept;
  void set_scalar_dtype(core::ScalarType type, Ref object) noexcept;
  /// Creates all keywords, names and version tuples. Throws ErrorSet.
  void fill_names();

  /// Takes over what namespaces share: all but the types of arrays, what was learned of other
  /// libraries, and the references that clear() gives back by other means.
  void share_from(const State& base) noexcept;

  /// The cache entry of a producer type, or nullptr.
  const Producer* find_producer(PyTypeObject* type) const noexcept;
  /// Adds a cache entry if there is a free slot. Takes new references to its objects.
  void remember_producer(const Producer& producer) noexcept;

  InterpreterLease* lease = nullptr;  // owns one reference, until clear()
  // The bits of every new array: kPooled of the main interpreter in a build with a GIL
  // (object_pool.hpp), kReadonly of an immutable namespace, kWatched and kOffHost of their modes.
  std::uint8_t object_bits = 0;
  bool pools_objects() const noexcept { return (object_bits & ObjectBits::kPooled) != 0; }
  Modes modes;
  WatchedArrays* watched = nullptr;  // of a namespace with poisoned views: modes/poisoned_views.hpp

  int traverse(visitproc visit, void* argument) noexcept;
  void clear() noexcept;

 private:
  static constexpr std::size_t kProducerSlots = 16;
  static std::size_t producer_slot(PyTypeObject* type) noexcept {
    return (reinterpret_cast<std::uintptr_t>(type) >> 4) % kProducerSlots;
  }

  // CPython zeroes the state before the module's exec slot runs: traverse() may be called earlier.
  // Mutable for set_once(), a cache.
  mutable std::array<std::atomic<PyObject*>, static_cast<std::size_t>(Slot::kCount)> slots_{};
  std::array<PyObject*, static_cast<std::size_t>(Key::kCount)> keys_{};
  std::array<PyObject*, core::kScalars.size()> dtypes_{};
  std::array<std::atomic<Producer*>, kProducerSlots> producers_{};
};

}  // namespace refarray::extension
