// The C exchange table of refarray.Array: the four functions that need Python, and the table.
#include "extension/dlpack/exchange_table.hpp"

#include <optional>

#include "dlpack/exchange_api.hpp"
#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/capi/errors.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/dlpack/dlpack_export.hpp"
#include "extension/objects/array_object.hpp"
#include "runtime/runtime.hpp"

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

}  // namespace

Ref module_of_caller() {
  if (!has_interpreter()) throw ErrorSet{};
  Ref module = State::module_of_current_interpreter();
  if (!module) raise(PyExc_RuntimeError, "refarray has not been imported in this interpreter");
  return module;
}

LentView lent_view(void* object) {
  const core::ArrayView view = view_of(checked_array(object));
  dlpack::ExportRequest request;
  request.versioned = true;
  dlpack::decide_export(view, request);
  if (view.device() != core::Device{}) [[unlikely]]
    return {view, order_for_current_stream(view)};
  return {view, runtime::order_cpu({})};
}

[[gnu::flatten]] dlpack::Managed<DLManagedTensorVersioned> export_tensor(void* object) {
  const auto [view, lent] = lent_view(object);
  return dlpack::make_managed<DLManagedTensorVersioned>(
      view, share_storage(static_cast<PyObject*>(object)), view.device(), /*copied=*/false, lent);
}

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

namespace {

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

}  // namespace

const DLPackExchangeAPI& own_table() noexcept { return kTable; }

Ref make_exchange_capsule() {
  // PyCapsule takes no const pointer; consumers only read the table.
  return check(
      PyCapsule_New(const_cast<DLPackExchangeAPI*>(&kTable), dlpack::kExchangeCapsule, nullptr));
}

}  // namespace refarray::extension
