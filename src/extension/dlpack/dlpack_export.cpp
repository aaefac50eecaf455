// DLPack export: __dlpack__ and to_capsule, from the call's arguments to the capsule. The numbers
// are the steps of docs/lifetime.md: [1] parse, [2] decide, [3] order streams, [4] make the managed
// tensor, [5] capsule.
#include "extension/dlpack/dlpack_export.hpp"

#include "core/error.hpp"
#include "dlpack/export.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/devices/exchange_arguments.hpp"
#include "extension/dlpack/capsule.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/namespace.hpp"
#include "refarray/dlpack/managed.hpp"

namespace refarray::extension {
namespace {

constexpr char kToCapsuleDoc[] =
    R"doc(to_capsule($module, x, /, *, stream=None, max_version=None, dl_device=None, copy=None)
--

Export an array as a bare DLPack capsule, for libraries that exchange capsules directly.

The keyword arguments are those of Array.__dlpack__. The capsule is a legacy one unless
max_version is (1, 0) or later. The first consumer to take it owns the tensor; if nobody
does, the capsule's destructor releases the memory.

Raises TypeError when x is not an Array, and whatever Array.__dlpack__ raises.)doc";

constexpr Signature<4> kDlpack{"__dlpack__",
                               {Key::kStream, Key::kMaxVersion, Key::kDlDevice, Key::kCopy}};
constexpr Signature<1> kEarlierDlpack{"__dlpack__", {Key::kStream}};
constexpr Signature<5> kToCapsule{
    "to_capsule", {Key::kX, Key::kStream, Key::kMaxVersion, Key::kDlDevice, Key::kCopy}, 1, 1};

// The functions below stand in the order in which an export calls them.
Ref export_array(const State& state, PyObject* self, PyObject* stream, PyObject* max_version,
                 PyObject* dl_device, PyObject* copy);
template <class M>
Ref export_from_cpu(PyObject* self, const core::ArrayView& array, const dlpack::ExportPlan& plan,
                    runtime::Lent lent);
Ref export_from_device(PyObject* self, const core::ArrayView& array, const dlpack::ExportPlan& plan,
                       bool versioned, const runtime::GivenStream& given);
template <class M>
Ref capsule_of_array(PyObject* self, const core::ArrayView& array, const core::Device& device,
                     runtime::Lent lent);
template <class M>
Ref capsule_of_copy(core::Array&& copy, const core::Device& device, runtime::Lent lent);
template <class M>
Ref to_capsule(dlpack::Managed<M> tensor);
template <class M>
void drop_unconsumed(PyObject* capsule) noexcept;

[[gnu::flatten]] Ref array_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                                  PyObject* kwnames) {
  const State& state = State::of_object(self);
  const auto [stream, max_version, dl_device, copy] = bind(kDlpack, state, args, nargs, kwnames);
  return export_array(state, self, stream, max_version, dl_device, copy);
}

/// Of strict namespaces: before 2023.12, `stream` was the only argument.
Ref strict_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_object(self);
  if (state.modes.without_dlpack_keywords) bind(kEarlierDlpack, state, args, nargs, kwnames);
  return array_dlpack(self, args, nargs, kwnames);
}

Ref module_to_capsule(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                      PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, stream, max_version, dl_device, copy] =
      bind(kToCapsule, state, args, nargs, kwnames);
  if (!is_array(state, x)) {
    raise(PyExc_TypeError,
          "to_capsule() takes a refarray.Array, not %R; from_dlpack() converts other producers",
          reinterpret_cast<PyObject*>(Py_TYPE(x)));
  }
  if (is_off_host(x)) return export_from_virtual(x, stream, max_version, dl_device, copy);
  return export_array(state, x, stream, max_version, dl_device, copy);
}

Ref export_array(const State& state, PyObject* self, PyObject* stream, PyObject* max_version,
                 PyObject* dl_device, PyObject* copy) {
  const runtime::GivenStream given = to_stream(stream);  // [1] parse
  const dlpack::ExportRequest request{wants_versioned(state, max_version), to_copy(copy),
                                      to_dl_device(state, dl_device)};

  constexpr core::Device kCpu;
  const core::ArrayView array = view_of(self);
  if (array.device() != kCpu) [[unlikely]]
    open_device(array.device());
  const dlpack::ExportPlan plan = dlpack::decide_export(array, request);  // [2] decide
  if (array.device() != kCpu || plan.device != kCpu) [[unlikely]] {
    return export_from_device(self, array, plan, request.versioned, given);
  }
  const runtime::Lent lent = runtime::order_cpu(given);  // [2] too: refuses all streams but None
  return request.versioned ? export_from_cpu<DLManagedTensorVersioned>(self, array, plan, lent)
                           : export_from_cpu<DLManagedTensor>(self, array, plan, lent);
}

template <class M>
[[gnu::noinline]] Ref export_copy_from_cpu(const core::ArrayView& array, runtime::Lent lent) {
  // Writable even if `array` is not: the copy belongs to the consumer alone (FLAG-05, FLAG-06).
  return capsule_of_copy<M>(copy_to_new(array, array.dtype), core::Device{}, lent);
}

/// The CPU has no streams, so there is no step 3.
template <class M>
Ref export_from_cpu(PyObject* self, const core::ArrayView& array, const dlpack::ExportPlan& plan,
                    runtime::Lent lent) {
  return plan.copy ? export_copy_from_cpu<M>(array, lent)
                   : capsule_of_array<M>(self, array, plan.device, lent);
}

struct LentCopy {
  core::Array array;
  runtime::Lent lent;
};

/// A copy whose last write comes before the consumer's work: made on the consumer's stream if it
/// named one, otherwise on ours, which it does not know, and waited for by the host.
LentCopy copy_for_consumer(const core::ArrayView& array, const dlpack::ExportPlan& plan,
                           const runtime::StreamPtr& stream) {
  {  // [2] for graph captures, which only the driver knows
    const DriverCalls here;
    runtime::check_copy(array, plan.device, stream);
  }
  Unfinished copy(stream == nullptr ? copy_to_new(array, array.dtype, plan.device)
                                    : copy_to_new_on(array, plan.device, stream));
  const runtime::StreamChoice choice =
      stream == nullptr ? runtime::StreamChoice{} : runtime::choice_of(*stream);
  const runtime::Lent lent = order_without_gil(copy.array(), choice);  // [3] order streams
  return {copy.finish(), lent};
}

/// Exports from or to memory that devices access.
[[gnu::noinline]] Ref export_from_device(PyObject* self, const core::ArrayView& array,
                                         const dlpack::ExportPlan& plan, bool versioned,
                                         const runtime::GivenStream& given) {
  const runtime::StreamChoice choice = runtime::choose_stream(plan.device, given);  // [2] too
  const bool copies_on_stream = plan.copy && choice.kind == runtime::StreamChoice::Kind::kStream;
  const runtime::StreamPtr stream =
      copies_on_stream ? stream_without_gil(plan.device, choice) : nullptr;
  if (plan.copy) {
    auto [copy, lent] = copy_for_consumer(array, plan, stream);
    return versioned ? capsule_of_copy<DLManagedTensorVersioned>(std::move(copy), plan.device, lent)
                     : capsule_of_copy<DLManagedTensor>(std::move(copy), plan.device, lent);
  }
  const runtime::Lent lent = order_without_gil(array, choice);  // [3] order streams
  return versioned ? capsule_of_array<DLManagedTensorVersioned>(self, array, plan.device, lent)
                   : capsule_of_array<DLManagedTensor>(self, array, plan.device, lent);
}

template <class M>
Ref capsule_of_array(PyObject* self, const core::ArrayView& array, const core::Device& device,
                     runtime::Lent lent) {
  return to_capsule<M>(
      dlpack::make_managed<M>(array, share_storage(self), device, /*copied=*/false, lent));
}

template <class M>
Ref capsule_of_copy(core::Array&& copy, const core::Device& device, runtime::Lent lent) {
  const core::ArrayView view = copy.view();
  return to_capsule<M>(
      dlpack::make_managed<M>(view, std::move(copy.storage), device, /*copied=*/true, lent));
}

/// Step 5. Throws ErrorSet, and then the tensor has been released.
template <class M>
Ref to_capsule(dlpack::Managed<M> tensor) {
  Ref capsule = check(PyCapsule_New(tensor.get(), dlpack::Wire<M>::capsule, &drop_unconsumed<M>));
  (void)tensor.release();  // [5] capsule: it owns the tensor; nothing below can fail
  return capsule;
}

/// The capsule's destructor. Releases the tensor only while the capsule has our unused name:
/// otherwise its consumer calls the deleter (LIFE-08, LIFE-09, A-39). It may run while an exception
/// is pending and leaves that untouched (LIFE-14).
template <class M>
void drop_unconsumed(PyObject* capsule) noexcept {
  if (!is_unconsumed<M>(capsule)) return;
  dlpack::Managed<M> tensor(
      static_cast<M*>(PyCapsule_GetPointer(capsule, dlpack::Wire<M>::capsule)));
  if (dlpack::own_storage(*tensor) != nullptr) {
    return drop_storage(dlpack::open_own(std::move(tensor)));
  }
  const ErrorGuard guard;  // somebody replaced the pointer in our capsule by a foreign tensor
  const Attached here;
  tensor.reset();
}

/// DEV-01 requires an Enum member. The enum is made on first use, so that `import refarray` does
/// not import enum.
Ref device_tuple(const core::Device& device) {
  const Ref package = check(calling<PyImport_ImportModule>("refarray"));
  const Ref type = check(PyObject_GetAttrString(package.get(), "DLDeviceType"));
  const Ref member =
      check(calling<PyObject_CallFunction>(type.get(), "i", static_cast<int>(device.kind)));
  return check(calling<Py_BuildValue>("(Oi)", member.get(), static_cast<int>(device.id)));
}

Ref array_dlpack_device(PyObject* self, PyObject*) {
  const core::Device device = view_of(self).device();
  if (device != core::Device{}) return device_tuple(device);
  State& state = State::of_object(self);
  PyObject* cached = state.get(Slot::kCpuDlpackDevice);
  if (cached != nullptr) return Ref::borrow(cached);
  return Ref::borrow(
      state.set_once(Slot::kCpuDlpackDevice, compat::make_immortal(device_tuple(device))));
}

}  // namespace

Ref export_from_virtual(PyObject* self, PyObject* stream, PyObject* max_version,
                        PyObject* dl_device, PyObject* copy) {
  const State& state = State::of_object(self);
  const runtime::GivenStream given = to_stream(stream);  // [1] parse
  const auto target = to_dl_device(state, dl_device);
  const bool versioned = wants_versioned(state, max_version);
  if (!target || target->device_type != kDLCPU) refuse_sharing(self, sharing::kDlpack);
  if (to_copy(copy) == dlpack::Copy::kNever) {
    core::fail(core::Fault::kNoCopy, "copy=False, but from ", device_text(state),
               " to the host the data has to be copied");
  }
  const core::ArrayView array = view_of(self);
  dlpack::decide_export(array, {versioned, dlpack::Copy::kAlways, {}});  // [2] decide
  const runtime::Lent lent = runtime::order_cpu(given);                  // [2] too
  note_transfer(array.nbytes(), /*with_host=*/true);
  core::Array made = working_copy(array, array.dtype);
  return versioned
             ? capsule_of_copy<DLManagedTensorVersioned>(std::move(made), core::Device{}, lent)
             : capsule_of_copy<DLManagedTensor>(std::move(made), core::Device{}, lent);
}

runtime::Lent order_without_gil(const core::ArrayView& array, const runtime::StreamChoice& choice) {
  if (const auto lent = runtime::order_at_once(array, choice)) return *lent;
  const DriverCalls here;
  return runtime::order(array, choice);
}

PyMethodDef kExportMethods[] = {
    {"__dlpack__", method<&array_dlpack>(), METH_FASTCALL | METH_KEYWORDS, kDlpackDoc},
    {"__dlpack_device__", method<&array_dlpack_device>(), METH_NOARGS, kDlpackDeviceDoc},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef kStrictExportMethods[] = {
    {"__dlpack__", method<&strict_dlpack>(), METH_FASTCALL | METH_KEYWORDS, kDlpackDoc},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef kExportFunctions[] = {
    {"to_capsule", method<&module_to_capsule>(), METH_FASTCALL | METH_KEYWORDS, kToCapsuleDoc},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
