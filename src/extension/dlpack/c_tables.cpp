// The C exchange table of refarray.Array: the four functions that need Python, and the table. Then
// the C table refarray._C_API: its nine functions.
#include "extension/dlpack/c_tables.hpp"

#include <optional>
#include <utility>

#include "core/array.hpp"
#include "dlpack/exchange_api.hpp"
#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/dlpack/dlpack_export.hpp"
#include "extension/dlpack/dlpack_import.hpp"
#include "extension/objects/allocator_capsule.hpp"
#include "extension/objects/array_object.hpp"
#include "refarray/dlpack/managed.hpp"
#include "refarray/python/c_api.h"
#include "runtime/runtime.hpp"
#include "runtime/streams/order.hpp"

namespace refarray::extension {
namespace {

/// Whether the calling thread may use Python: C code may keep the table for longer than the
/// interpreter lives (CAPI-04). True during finalization for the finalizing thread.
bool has_interpreter() noexcept {
  return Py_IsInitialized() != 0 || PyGILState_GetThisThreadState() != nullptr;
}

/// raise(); without an interpreter there is no exception to set, and the function only fails.
template <class... Args>
[[noreturn, gnu::cold]] void refuse(PyObject* type, const char* format, Args... args) {
  if (!has_interpreter()) throw ErrorSet{};
  raise(type, format, args...);
}

/// CAPI-13: TypeError for any object but a refarray.Array. BufferError for one on a virtual device.
PyObject* checked_array(void* object) {
  auto* array = static_cast<PyObject*>(object);
  if (array == nullptr || !is_any_array(array)) {
    refuse(PyExc_TypeError, "refarray's C tables take a refarray.Array, not %R",
           array == nullptr ? Py_None : reinterpret_cast<PyObject*>(Py_TYPE(array)));
  }
  if (is_off_host(array)) [[unlikely]] {
    if (!has_interpreter()) throw ErrorSet{};
    refuse_sharing(array, sharing::kTable);
  }
  return array;
}

/// Orders unfinished work on any stream before the caller's work, which goes to
/// current_work_stream. Device memory is not waited for on the host (CAPI-12).
[[gnu::noinline]] runtime::Lent order_for_current_stream(const core::ArrayView& array) {
  if (array.device().is_host()) return order_without_gil(array, {});
  const runtime::StreamPtr current = runtime::current_stream(array.device());
  return order_without_gil(array, runtime::choice_of(*current));
}

/// Leaves a tensor that was not imported to the caller: does not call the deleter.
struct LeaveOnFailure {
  dlpack::Managed<DLManagedTensorVersioned>& owner;
  ~LeaveOnFailure() { (void)owner.release(); }
};

/// The module of the current interpreter, for C callers.
Ref module_of_caller() {
  if (!has_interpreter()) throw ErrorSet{};
  Ref module = State::module_of_current_interpreter();
  if (!module) raise(PyExc_RuntimeError, "refarray has not been imported in this interpreter");
  return module;
}

struct LentView {
  core::ArrayView view;
  runtime::Lent lent;
};
/// The view of a refarray.Array whose elements a managed tensor can describe, after ordering
/// pending work before the stream that is current for its device. TypeError for other objects.
LentView lent_view(void* object) {
  const core::ArrayView view = view_of(checked_array(object));
  dlpack::ExportRequest request;
  request.versioned = true;
  dlpack::decide_export(view, request);
  if (view.device() != core::Device{}) [[unlikely]]
    return {view, order_for_current_stream(view)};
  return {view, runtime::order_cpu({})};
}

/// A new managed tensor over the memory of a refarray.Array.
[[gnu::flatten]] dlpack::Managed<DLManagedTensorVersioned> export_tensor(void* object) {
  const auto [view, lent] = lent_view(object);
  return dlpack::make_managed<DLManagedTensorVersioned>(
      view, share_storage(static_cast<PyObject*>(object)), view.device(), /*copied=*/false, lent);
}

/// A new array over a tensor, which it takes on success only.
Ref import_tensor(DLManagedTensorVersioned* tensor) {
  const Ref module = module_of_caller();
  const State& state = State::of_module(module.get());
  dlpack::Managed<DLManagedTensorVersioned> owner(tensor);
  const LeaveOnFailure leave{owner};
  prepare_import(*tensor);
  dlpack::Imported in;
  dlpack::check_tensor(*tensor, in);
  return make_array_around(state, in.array, [&] { return dlpack::make_storage(owner, in); });
}

/// managed_tensor_from_py_object_no_sync (CAPI-11).
[[gnu::flatten]] int export_managed(void* object, DLManagedTensorVersioned** out) {
  if (out == nullptr)
    refuse(PyExc_ValueError, "managed_tensor_from_py_object_no_sync: out is NULL");
  *out = nullptr;
  *out = export_tensor(object).release();
  return 0;
}

/// managed_tensor_to_py_object_no_sync: takes the tensor on success only (CAPI-17, CAPI-18, A-33).
int import_managed(DLManagedTensorVersioned* tensor, void** out) {
  if (out == nullptr) refuse(PyExc_ValueError, "managed_tensor_to_py_object_no_sync: out is NULL");
  *out = nullptr;
  if (!has_interpreter()) throw ErrorSet{};
  if (tensor == nullptr)
    raise(PyExc_ValueError, "managed_tensor_to_py_object_no_sync: tensor is NULL");
  *out = import_tensor(tensor).release();
  return 0;
}

/// dltensor_from_py_object_no_sync (CAPI-15). A DLTensor has no flags, so read-only and padded data
/// are refused (A-37).
int borrow_tensor(void* object, DLTensor* out) {
  if (out == nullptr) refuse(PyExc_ValueError, "dltensor_from_py_object_no_sync: out is NULL");
  const core::ArrayView view = view_of(checked_array(object));
  if (view.readonly) {
    raise(PyExc_BufferError,
          "a borrowed DLTensor has no read-only flag; use managed_tensor_from_py_object_no_sync");
  }
  if (view.dtype.padded) {
    raise(PyExc_BufferError, "a borrowed DLTensor has no flag for padded elements");
  }
  const auto [ordered, lent] = lent_view(object);
  dlpack::borrow(ordered, *out, lent);
  return 0;
}

/// current_work_stream (CAPI-25..27): the calling thread's current stream on a device; NULL for
/// host memory, which has no streams.
int work_stream(DLDeviceType type, std::int32_t id, void** out) {
  if (out == nullptr) refuse(PyExc_ValueError, "current_work_stream: out is NULL");
  *out = nullptr;
  const std::optional<core::Device> device = dlpack::to_core_normalized({type, id});
  if (device && device->is_host()) return 0;
  if (device) {
    if (has_interpreter()) open_device(*device);
    if (runtime::can_allocate(*device)) {
      *out = runtime::current_stream(*device)->give_handle();
      return 0;
    }
  }
  refuse(PyExc_ValueError, "current_work_stream: device (%d, %d) cannot be used by this process",
         static_cast<int>(type), static_cast<int>(id));
}

const DLPackExchangeAPI kTable{
    {dlpack::kVersion, nullptr}, &dlpack::allocate_managed, slot<&export_managed>,
    slot<&import_managed>,       slot<&borrow_tensor>,      slot<&work_stream>,
};

// --- refarray._C_API.

constexpr const char* kCTableCapsule = "refarray._C_API";

int table_is_array(PyObject* object) { return object != nullptr && is_any_array(object) ? 1 : 0; }

/// A DLTensor of which allocate_like() reads what is set here.
DLTensor prototype_of(DLDataType dtype, DLDevice device, std::int32_t ndim,
                      const std::int64_t* shape) noexcept {
  DLTensor out{};
  out.dtype = dtype;
  out.device = device;
  out.ndim = ndim;
  out.shape = const_cast<std::int64_t*>(shape);  // only read
  return out;
}

Ref table_empty(DLDataType dtype, DLDevice device, std::int32_t ndim, const std::int64_t* shape) {
  const Ref module = module_of_caller();
  const DLTensor prototype = prototype_of(dtype, device, ndim, shape);
  if (device.device_type != kDLCPU) prepare_for(device);
  return make_array(State::of_module(module.get()), dlpack::allocate_like(prototype));
}

Ref table_from_tensor(DLManagedTensorVersioned* tensor) {
  if (tensor == nullptr) raise(PyExc_ValueError, "from_tensor: tensor is NULL");
  return import_tensor(tensor);
}

DLManagedTensorVersioned* table_to_tensor(PyObject* array) {
  return export_tensor(array).release();
}

int table_borrow(PyObject* array, DLTensor* out, std::uint64_t* flags) {
  if (out == nullptr) raise(PyExc_ValueError, "borrow: out is NULL");
  if (flags == nullptr) raise(PyExc_ValueError, "borrow: flags is NULL");
  const auto [view, lent] = lent_view(array);
  dlpack::borrow(view, *out, lent);
  *flags = (view.readonly ? dlpack::kReadOnly : 0) | (view.dtype.padded ? dlpack::kPadded : 0);
  return 0;
}

Ref table_from_object(PyObject* object) {
  if (object == nullptr) raise(PyExc_ValueError, "from_object: object is NULL");
  const Ref module = module_of_caller();
  return module_from_dlpack(module.get(), &object, 1, nullptr);
}

/// What a C module passed, and the allocator that calls it.
struct GivenAllocator : core::Allocator {
  void (*release)(void* context);
};

Ref table_make_allocator(const RefarrayAllocator* given) {
  if (given == nullptr) raise(PyExc_ValueError, "make_allocator: allocator is NULL");
  if (given->allocate == nullptr) raise(PyExc_ValueError, "make_allocator: allocate is NULL");
  if (given->deallocate == nullptr) raise(PyExc_ValueError, "make_allocator: deallocate is NULL");
  auto* const mine =
      new GivenAllocator{{given->allocate, given->deallocate, given->context}, nullptr};
  core::AllocatorPtr shared(mine, [](GivenAllocator* each) {
    if (each->release != nullptr) each->release(each->context);
    delete each;
  });
  Ref out = allocator_object(std::move(shared));
  mine->release = given->release;  // the capsule takes the context, after all that can fail
  return out;
}

Ref table_empty_from(PyObject* allocator, DLDataType dtype, std::int32_t ndim,
                     const std::int64_t* shape) {
  const core::WithAllocator here(to_allocator(allocator));
  return table_empty(dtype, DLDevice{kDLCPU, 0}, ndim, shape);
}

const RefarrayCApi kCTable{
    REFARRAY_C_API_VERSION, sizeof(RefarrayCApi),     slot<&table_is_array>,
    slot<&table_empty>,     slot<&table_from_tensor>, slot<&table_to_tensor>,
    slot<&table_borrow>,    slot<&table_from_object>, slot<&table_make_allocator>,
    slot<&use_allocator>,   slot<&table_empty_from>,
};

}  // namespace

const DLPackExchangeAPI& own_table() noexcept { return kTable; }

Ref make_exchange_capsule() {
  // PyCapsule takes no const pointer; consumers only read the table.
  return check(
      PyCapsule_New(const_cast<DLPackExchangeAPI*>(&kTable), dlpack::kExchangeCapsule, nullptr));
}

Ref make_c_table_capsule() {
  // PyCapsule takes no const pointer; callers only read the table.
  return check(PyCapsule_New(const_cast<RefarrayCApi*>(&kCTable), kCTableCapsule, nullptr));
}

}  // namespace refarray::extension
