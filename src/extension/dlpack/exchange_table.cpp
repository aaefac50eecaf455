// Owns the table that our array type offers to C callers: the four functions that need Python, and
// the table itself.
#include "extension/dlpack/exchange_table.hpp"

#include "dlpack/exchange_api.hpp"
#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/devices/devices.hpp"
#include "extension/dlpack/keywords.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

/// Whether the calling thread can touch Python at all: C code may hold on to the table for longer
/// than the interpreter lives (CAPI-04). True during finalization for the thread that does it.
bool has_interpreter() noexcept {
  return Py_IsInitialized() != 0 || PyGILState_GetThisThreadState() != nullptr;
}

/// raise(), but without an interpreter the function fails without an exception: nobody could hold
/// one.
template <class... Args>
[[noreturn, gnu::cold]] void refuse(PyObject* type, const char* format, Args... args) {
  if (!has_interpreter()) throw ErrorSet{};
  raise(type, format, args...);
}

/// CAPI-13: a pointer that is not an array of ours fails cleanly.
PyObject* checked_array(void* object) {
  auto* array = static_cast<PyObject*>(object);
  if (array == nullptr || !is_any_array(array)) {
    refuse(PyExc_TypeError, "refarray's exchange table takes a refarray.Array, not %R",
           array == nullptr ? Py_None : reinterpret_cast<PyObject*>(Py_TYPE(array)));
  }
  return array;
}

/// The caller works on current_work_stream, which our own work may not be on: what is unfinished on
/// other streams has to come before it. Nothing is waited for on the host (CAPI-12).
[[gnu::noinline]] void lend_without_stream(const core::ArrayView& array) {
  if (array.device().is_host()) return order_without_gil(array, {});
  const runtime::StreamPtr current = runtime::current_stream(array.device());
  order_without_gil(array, {runtime::StreamChoice::Kind::kStream, current->handle()});
}

/// CAPI-11. No stream is ordered: the caller works on current_work_stream (CAPI-12).
[[gnu::flatten]] int export_managed(void* object, DLManagedTensorVersioned** out) {
  if (out == nullptr)
    refuse(PyExc_ValueError, "managed_tensor_from_py_object_no_sync: out is NULL");
  *out = nullptr;
  PyObject* array = checked_array(object);
  const core::ArrayView view = view_of(array);
  dlpack::ExportRequest request;
  request.versioned = true;
  const dlpack::ExportPlan plan = dlpack::decide_export(view, request);
  if (view.device() != core::Device{}) [[unlikely]]
    lend_without_stream(view);
  *out = dlpack::make_managed<DLManagedTensorVersioned>(view, share_storage(array), plan.device,
                                                        /*copied=*/false)
             .release();
  return 0;
}

/// What has not moved by the end of the scope is the caller's: let go of it without calling the
/// deleter.
struct LeaveOnFailure {
  dlpack::Managed<DLManagedTensorVersioned>& owner;
  ~LeaveOnFailure() { (void)owner.release(); }
};

/// CAPI-17, CAPI-18: on success the tensor is ours; on failure the caller keeps it (A-33).
int import_managed(DLManagedTensorVersioned* tensor, void** out) {
  if (out == nullptr) refuse(PyExc_ValueError, "managed_tensor_to_py_object_no_sync: out is NULL");
  *out = nullptr;
  if (!has_interpreter()) throw ErrorSet{};
  if (tensor == nullptr)
    raise(PyExc_ValueError, "managed_tensor_to_py_object_no_sync: tensor is NULL");
  const Ref module = State::module_of_current_interpreter();
  if (!module) raise(PyExc_RuntimeError, "refarray has not been imported in this interpreter");
  const State& state = State::of_module(module.get());
  dlpack::Managed<DLManagedTensorVersioned> owner(tensor);
  const LeaveOnFailure leave{owner};
  prepare_import(*tensor);
  dlpack::Imported in;
  dlpack::check_tensor(*tensor, in);
  *out = make_array_around(state, in.array, [&] { return dlpack::keep(owner, in); }).release();
  return 0;
}

/// CAPI-15. A borrowed DLTensor has no flags, so read-only data cannot be lent (A-37).
int lend(void* object, DLTensor* out) {
  if (out == nullptr) refuse(PyExc_ValueError, "dltensor_from_py_object_no_sync: out is NULL");
  const core::ArrayView view = view_of(checked_array(object));
  if (view.readonly) {
    raise(PyExc_BufferError,
          "a borrowed DLTensor cannot say that it is read-only; use "
          "managed_tensor_from_py_object_no_sync");
  }
  if (view.dtype.padded) {
    raise(PyExc_BufferError, "a borrowed DLTensor cannot say that its elements are padded");
  }
  dlpack::ExportRequest request;
  request.versioned = true;
  dlpack::decide_export(view, request);
  if (view.device() != core::Device{}) [[unlikely]]
    lend_without_stream(view);
  dlpack::borrow(view, *out);
  return 0;
}

/// CAPI-25..27: host memory has no stream, and NULL says so; on a device, what the calling thread
/// works on.
int work_stream(DLDeviceType type, std::int32_t id, void** out) {
  if (out == nullptr) refuse(PyExc_ValueError, "current_work_stream: out is NULL");
  *out = nullptr;
  const auto number = static_cast<std::int32_t>(type);
  if (number == kDLCPU || number == kDLCUDAHost || number == kDLROCMHost) return 0;
  if (number == kDLCUDA || number == kDLROCM || number == kDLCUDAManaged) {
    const core::Device device{static_cast<core::DeviceKind>(number),
                              number == kDLCUDAManaged ? 0 : id};
    if (has_interpreter()) open_device(device);
    if (runtime::can_allocate(device)) {
      *out = runtime::current_stream(device)->handle();
      return 0;
    }
  }
  refuse(PyExc_ValueError, "current_work_stream: device (%d, %d) cannot be used by this process",
         static_cast<int>(number), static_cast<int>(id));
}

/// Static for the process, whatever becomes of the module, the capsule or the interpreter
/// (CAPI-04).
const DLPackExchangeAPI kTable{
    {dlpack::kVersion, nullptr},
    &dlpack::allocate_managed,
    slot<&export_managed>,
    slot<&import_managed>,
    slot<&lend>,
    slot<&work_stream>,
};

}  // namespace

Ref make_exchange_capsule() {
  // PyCapsule has no const; nobody may write through the table.
  return check(
      PyCapsule_New(const_cast<DLPackExchangeAPI*>(&kTable), dlpack::kExchangeCapsule, nullptr));
}

}  // namespace refarray::extension
