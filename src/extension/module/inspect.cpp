// Private introspection: capsules and exchange tables as dicts, installed drivers, build info.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/kernels/table.hpp"
#include "dlpack/exchange_api.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/capi/methods.hpp"
#include "extension/dlpack/capsule.hpp"
#include "extension/dlpack/producer.hpp"
#include "extension/objects/conversions.hpp"
#include "refarray/dlpack/managed.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

constexpr char kInspectCapsuleDoc[] = R"doc(_inspect_capsule($module, capsule, /)
--

Return the fields of the managed tensor in an unconsumed DLPack capsule as a dict.

The capsule stays unconsumed. Of an unknown major version only the fields before
dl_tensor are read. Raises TypeError if the argument is not a capsule, ValueError if
its name is not that of an unconsumed DLPack capsule.)doc";

constexpr char kInspectExchangeApiDoc[] = R"doc(_inspect_exchange_api($module, type, /)
--

Describe the C exchange table of a type as a dict, or return None if it has none.

The dict says which functions are set; none is called.)doc";

constexpr char kFindOnTypeDoc[] = R"doc(_find_on_type($module, type_and_name, /)
--

Look up an attribute as from_dlpack() does: by the type cache, and by the MRO.
Returns two lists, each empty or with the unbound attribute.)doc";

constexpr char kProbeDriversDoc[] = R"doc(_probe_drivers($module, /)
--

Return one dict per GPU vendor: its driver library, the number of devices, errors.)doc";

constexpr char kBuildInfoDoc[] = R"doc(_build_info($module, /)
--

Return how this extension was built, as a dict.)doc";

constexpr char kNoopDoc[] = R"doc(_noop($module, x, /)
--

Return x. Benchmarks measure in units of one such call.)doc";

/// Builds a dict. set() steals its value; nullptr means that creating the value failed.
class Dict {
 public:
  Dict() : dict_(check(calling<PyDict_New>())) {}
  void set(const char* key, PyObject* value) {
    const Ref owned = check(value);
    check(PyDict_SetItemString(dict_.get(), key, owned.get()));
  }
  void set_text(const char* key, const char* text) { set(key, PyUnicode_FromString(text)); }
  void set_bool(const char* key, bool value) { set(key, PyBool_FromLong(value)); }
  void set_none(const char* key) { check(PyDict_SetItemString(dict_.get(), key, Py_None)); }
  Ref take() { return std::move(dict_); }

 private:
  Ref dict_;
};

PyObject* address(const void* pointer) { return PyLong_FromVoidPtr(const_cast<void*>(pointer)); }

/// None for an ndim outside [0, kMaxRank], which must not be trusted.
PyObject* dims_or_none(const std::int64_t* dims, std::int32_t ndim) {
  if (dims == nullptr || ndim < 0 || ndim > core::kMaxRank) return Ref::borrow(Py_None).release();
  return make_int_tuple({dims, static_cast<std::size_t>(ndim)}).release();
}

void describe_tensor(const DLTensor& tensor, Dict& out) {
  out.set("data", address(tensor.data));
  out.set("device", calling<Py_BuildValue>("(ii)", static_cast<int>(tensor.device.device_type),
                                           tensor.device.device_id));
  out.set("ndim", PyLong_FromLong(tensor.ndim));
  out.set("dtype", calling<Py_BuildValue>("(iii)", int{tensor.dtype.code}, int{tensor.dtype.bits},
                                          int{tensor.dtype.lanes}));
  out.set("shape",
          tensor.ndim == 0 ? calling<PyTuple_New>(0) : dims_or_none(tensor.shape, tensor.ndim));
  out.set("strides", dims_or_none(tensor.strides, tensor.ndim));
  out.set("byte_offset", PyLong_FromUnsignedLongLong(tensor.byte_offset));
}

/// A copy of a managed tensor. Creating the dict may release the GIL, and another thread may then
/// consume the capsule and delete the tensor.
template <class M>
struct Snapshot {
  M tensor;
  std::int64_t shape[core::kMaxRank];
  std::int64_t strides[core::kMaxRank];

  /// Copies `dims` if ndim is valid, and makes `dims` point to the copy.
  void copy_dims(std::int64_t*& dims, std::int64_t* copy) const noexcept {
    const std::int32_t ndim = tensor.dl_tensor.ndim;
    if (dims == nullptr || ndim <= 0 || ndim > core::kMaxRank) return;
    dims = std::copy_n(dims, ndim, copy) - ndim;
  }
};

/// False if the capsule holds no unconsumed M. Of an unknown major version only the fields before
/// dl_tensor are read.
template <class M>
bool take_snapshot(PyObject* capsule, Snapshot<M>& out) noexcept {
  return compat::with_object_locked(capsule, [&]() noexcept {
    if (PyCapsule_IsValid(capsule, dlpack::Wire<M>::capsule) == 0) return false;
    const void* managed = PyCapsule_GetPointer(capsule, dlpack::Wire<M>::capsule);
    const bool whole = dlpack::Wire<M>::is_known_major(*static_cast<const M*>(managed));
    std::memcpy(&out.tensor, managed, whole ? sizeof(M) : offsetof(M, dl_tensor));
    if (!whole) return true;
    out.copy_dims(out.tensor.dl_tensor.shape, out.shape);
    out.copy_dims(out.tensor.dl_tensor.strides, out.strides);
    return true;
  });
}

template <class M>
Ref describe(const M& tensor) {
  Dict out;
  out.set_text("name", dlpack::Wire<M>::capsule);
  if constexpr (dlpack::Wire<M>::versioned) {
    out.set_text("struct", "DLManagedTensorVersioned");
    out.set("version", calling<Py_BuildValue>("(II)", tensor.version.major, tensor.version.minor));
    out.set("flags", PyLong_FromUnsignedLongLong(tensor.flags));
  } else {
    out.set_text("struct", "DLManagedTensor");
    out.set_none("version");
    out.set_none("flags");
  }
  out.set("manager_ctx", address(tensor.manager_ctx));
  out.set("deleter", address(reinterpret_cast<const void*>(tensor.deleter)));
  if (dlpack::Wire<M>::is_known_major(tensor)) describe_tensor(tensor.dl_tensor, out);
  return out.take();
}

Ref inspect_capsule(PyObject*, PyObject* capsule) {
  if (!PyCapsule_CheckExact(capsule)) {
    raise(PyExc_TypeError, "not a capsule: %R", reinterpret_cast<PyObject*>(Py_TYPE(capsule)));
  }
  Snapshot<DLManagedTensorVersioned> versioned;
  if (take_snapshot(capsule, versioned)) return describe(versioned.tensor);
  Snapshot<DLManagedTensor> legacy;
  if (take_snapshot(capsule, legacy)) return describe(legacy.tensor);
  const CapsuleName name = name_of(capsule);
  raise(PyExc_ValueError, "the capsule's name is \"%s\"; it holds no unconsumed DLPack tensor",
        name.has_name ? name.text : "(none)");
}

Ref inspect_exchange_api(PyObject* module, PyObject* type) {
  if (!PyType_Check(type)) raise(PyExc_TypeError, "not a type: %R", type);
  const Ref capsule = Ref::steal(
      calling<PyObject_GetAttr>(type, State::of_module(module).get(Slot::kExchangeName)));
  if (!capsule) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw ErrorSet{};
    compat::clear_raised();
    return Ref::borrow(Py_None);
  }
  if (!PyCapsule_IsValid(capsule.get(), dlpack::kExchangeCapsule)) return Ref::borrow(Py_None);
  const auto& table = *static_cast<const DLPackExchangeAPI*>(
      PyCapsule_GetPointer(capsule.get(), dlpack::kExchangeCapsule));
  Dict out;
  out.set("version",
          calling<Py_BuildValue>("(II)", table.header.version.major, table.header.version.minor));
  out.set_bool("prev_api", table.header.prev_api != nullptr);
  out.set_bool("usable", dlpack::usable_table(&table) != nullptr);
  if (table.header.version.major == dlpack::kVersion.major) {
    Dict functions;
    functions.set_bool("managed_tensor_allocator", table.managed_tensor_allocator != nullptr);
    functions.set_bool("managed_tensor_from_py_object_no_sync",
                       table.managed_tensor_from_py_object_no_sync != nullptr);
    functions.set_bool("managed_tensor_to_py_object_no_sync",
                       table.managed_tensor_to_py_object_no_sync != nullptr);
    functions.set_bool("dltensor_from_py_object_no_sync",
                       table.dltensor_from_py_object_no_sync != nullptr);
    functions.set_bool("current_work_stream", table.current_work_stream != nullptr);
    out.set("functions", functions.take().release());
  }
  return out.take();
}

Ref probe_drivers(PyObject*, PyObject*) {
  const auto reports = [] {
    const GilRelease released(true);
    return runtime::probe_drivers();
  }();
  Ref list = check(calling<PyList_New>(0));
  for (const runtime::DriverReport& report : reports) {
    Dict row;
    row.set_text("name", report.name.c_str());
    row.set_text("library", report.library.c_str());
    row.set_bool("found", report.found);
    if (report.devices < 0) {
      row.set_none("devices");
    } else {
      row.set("devices", PyLong_FromLong(report.devices));
    }
    row.set_text("detail", report.detail.c_str());
    check(PyList_Append(list.get(), row.take().get()));
  }
  return list;
}

Ref build_info(PyObject*, PyObject*) {
  Dict out;
  out.set_text("version", REFARRAY_VERSION);
  out.set_text("compiler", REFARRAY_COMPILER);
  out.set_text("build_type", REFARRAY_BUILD_TYPE);
  out.set_text("abi", REFARRAY_ABI);
  out.set("dlpack", calling<Py_BuildValue>("(II)", dlpack::kVersion.major, dlpack::kVersion.minor));
  out.set_text("dlpack_source", REFARRAY_DLPACK_ORIGIN);
  out.set_bool("free_threading", compat::kFreeThreading);
  out.set_text("isa", core::kernels::table().name);
  const core::kernels::Choices all = core::kernels::choices();
  Ref names = check(calling<PyTuple_New>(all.count));
  for (int i = 0; i < all.count; ++i) {
    Ref name = check(PyUnicode_FromString(all.tables[i]->name));
    check(PyTuple_SetItem(names.get(), i, name.release()));
  }
  out.set("isas", names.release());
  return out.take();
}

/// [value], or [] for nothing.
Ref list_of(const Ref& found) {
  Ref list = check(calling<PyList_New>(0));
  if (found) check(PyList_Append(list.get(), found.get()));
  return list;
}

Ref inspect_lookup(PyObject* module, PyObject* arguments) {
  const State& state = State::of_module(module);
  PyObject *type, *name;  // borrowed
  if (!PyTuple_Check(arguments)) raise(PyExc_TypeError, "not a tuple: %R", arguments);
  if (PyArg_ParseTuple(arguments, "O!U", &PyType_Type, &type, &name) == 0) throw ErrorSet{};
  auto* of = reinterpret_cast<PyTypeObject*>(type);
  const Ref by_cache = list_of(find_on_type(state, of, name));
  const Ref by_walk = list_of(walk_mro(state, of, name));
  return check(calling<PyTuple_Pack>(2, by_cache.get(), by_walk.get()));
}

Ref noop(PyObject*, PyObject* x) { return Ref::borrow(x); }

}  // namespace

PyMethodDef kInspectFunctions[] = {
    {"_inspect_capsule", method<&inspect_capsule>(), METH_O, kInspectCapsuleDoc},
    {"_inspect_exchange_api", method<&inspect_exchange_api>(), METH_O, kInspectExchangeApiDoc},
    {"_find_on_type", method<&inspect_lookup>(), METH_O, kFindOnTypeDoc},
    {"_probe_drivers", method<&probe_drivers>(), METH_NOARGS, kProbeDriversDoc},
    {"_build_info", method<&build_info>(), METH_NOARGS, kBuildInfoDoc},
    {"_noop", method<&noop>(), METH_O, kNoopDoc},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
