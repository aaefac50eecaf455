// Owns the producer's methods: __dlpack__, __dlpack_device__ and to_capsule, from parsed request to
// capsule. Steps 1 to 5.
#include "extension/array/conversions.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/free_threading.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/devices/devices.hpp"
#include "extension/dlpack/capsule.hpp"
#include "extension/dlpack/keywords.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

constexpr Signature<4> kDlpack{"__dlpack__",
                               {Key::kStream, Key::kMaxVersion, Key::kDlDevice, Key::kCopy}};
constexpr Signature<5> kToCapsule{
    "to_capsule", {Key::kX, Key::kStream, Key::kMaxVersion, Key::kDlDevice, Key::kCopy}, 1, 1};

template <class M>
Ref capsule_of_copy(core::Array&& copy, const core::Device& device) {
  const core::ArrayView view = copy.view();
  return to_capsule(
      dlpack::make_managed<M>(view, std::move(copy.storage), device, /*copied=*/true));
}

template <class M>
[[gnu::noinline]] Ref export_copy(const core::ArrayView& array, const dlpack::ExportPlan& plan) {
  // The consumer's alone, hence writable (FLAG-05, FLAG-06).
  return capsule_of_copy<M>(copy_to_new(array, array.dtype), plan.device);
}

template <class M>
Ref export_as(PyObject* self, const core::ArrayView& array, const dlpack::ExportPlan& plan) {
  if (plan.copy) return export_copy<M>(array, plan);
  return to_capsule(
      dlpack::make_managed<M>(array, share_storage(self), plan.device, /*copied=*/false));
}

Ref export_with(const State& state, PyObject* self, PyObject* stream, PyObject* max_version,
                PyObject* dl_device, PyObject* copy) {
  const runtime::GivenStream on = to_stream(stream);  // [1] parse
  const dlpack::ExportRequest request{wants_versioned(state, max_version), to_copy(copy),
                                      to_dl_device(state, dl_device)};
  return export_capsule(self, request, on);
}

[[gnu::flatten]] Ref array_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                                  PyObject* kwnames) {
  const State& state = State::of_object(self);
  const auto [stream, max_version, dl_device, copy] = bind(kDlpack, state, args, nargs, kwnames);
  return export_with(state, self, stream, max_version, dl_device, copy);
}

/// DEV-01 wants an Enum member; the enum is made when it is first needed, so that importing us does
/// not import enum.
Ref device_tuple(const core::Device& device) {
  const Ref package = check(calling<PyImport_ImportModule>("refarray"));
  const Ref type = check(PyObject_GetAttrString(package.get(), "DLDeviceType"));
  const Ref member = check(PyObject_CallFunction(type.get(), "i", static_cast<int>(device.kind)));
  return check(Py_BuildValue("(Oi)", member.get(), static_cast<int>(device.id)));
}

Ref array_dlpack_device(PyObject* self, PyObject*) {
  const core::Device device = view_of(self).device();
  State& state = State::of_object(self);
  if (device == core::Device{}) {
    PyObject* cached = state.get(Slot::kCpuDlpackDevice);
    if (cached != nullptr) return Ref::borrow(cached);
    return Ref::borrow(
        state.set_once(Slot::kCpuDlpackDevice, compat::make_immortal(device_tuple(device))));
  }
  return device_tuple(device);
}

Ref module_to_capsule(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                      PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, stream, max_version, dl_device, copy] =
      bind(kToCapsule, state, args, nargs, kwnames);
  if (!is_array(state, x)) {
    raise(PyExc_TypeError,
          "to_capsule() takes a refarray.Array, not %R; from_dlpack() makes one of any producer",
          reinterpret_cast<PyObject*>(Py_TYPE(x)));
  }
  return export_with(state, x, stream, max_version, dl_device, copy);
}

}  // namespace

namespace {

/// A copy made in the order of the consumer's stream: the host waits only where the consumer named
/// none that could do so.
template <class M>
Ref export_device_copy(const core::ArrayView& array, const dlpack::ExportPlan& plan,
                       const runtime::GivenStream& given) {
  using Kind = runtime::StreamChoice::Kind;
  const runtime::StreamChoice choice = runtime::choose_stream(plan.device, given);
  const bool by_consumer = choice.kind == Kind::kStream;
  core::Array copy =
      by_consumer ? copy_to_new_on(array, plan.device, runtime::stream_of(plan.device, choice))
                  : copy_to_new(array, array.dtype, plan.device);
  if (!by_consumer) {
    const DriverCalls here;
    runtime::wait_on_host(copy, /*writes=*/true);
  }
  if (by_consumer) order_without_gil(copy, choice);  // it may use the memory on that stream
  return capsule_of_copy<M>(std::move(copy), plan.device);
}

/// Steps 3 to 5 for memory that a device uses.
[[gnu::noinline]] Ref export_from_device(PyObject* self, const core::ArrayView& array,
                                         const dlpack::ExportPlan& plan, bool versioned,
                                         const runtime::GivenStream& given) {
  if (plan.copy) {
    return versioned ? export_device_copy<DLManagedTensorVersioned>(array, plan, given)
                     : export_device_copy<DLManagedTensor>(array, plan, given);
  }
  order_without_gil(array, runtime::choose_stream(plan.device, given));  // [3] order streams
  return versioned ? export_as<DLManagedTensorVersioned>(self, array, plan)
                   : export_as<DLManagedTensor>(self, array, plan);
}

}  // namespace

void order_without_gil(const core::ArrayView& array, const runtime::StreamChoice& choice) {
  if (runtime::order_at_once(array, choice)) return;
  const DriverCalls here;
  runtime::order(array, choice);
}

Ref export_capsule(PyObject* self, const dlpack::ExportRequest& request,
                   const runtime::GivenStream& stream) {
  const core::ArrayView array = view_of(self);
  constexpr core::Device kCpu;
  if (array.device() != kCpu) [[unlikely]]
    open_device(array.device());
  const dlpack::ExportPlan plan = dlpack::decide_export(array, request);  // [2] decide
  if (array.device() != kCpu || plan.device != kCpu) [[unlikely]] {
    return export_from_device(self, array, plan, request.versioned, stream);
  }
  runtime::order_cpu(stream);  // [3] order streams
  return request.versioned ? export_as<DLManagedTensorVersioned>(self, array, plan)
                           : export_as<DLManagedTensor>(self, array, plan);
}

PyMethodDef kProducerMethods[] = {
    {"__dlpack__", method<&array_dlpack>(), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "Export the array as a DLPack capsule (array API 2025.12, DLPack 1.3).\n\n"
     "stream: on which the consumer will use the data: an int as the array API numbers them, or an "
     "object with\n"
     "    __cuda_stream__. None is the legacy default stream for device memory, and waits on the "
     "host for pinned and\n"
     "    managed memory; -1 orders nothing. On the CPU there are no streams: only None is legal.\n"
     "max_version: the newest (major, minor) that the consumer reads. None or a major below 1 "
     "gives the legacy\n"
     "    capsule, which cannot say that data is read-only.\n"
     "dl_device: (type, id) to export to; None is the array's own device, (1, 0) is the CPU.\n"
     "copy: True copies always, False never, None if needed. A copy carries IS_COPIED and is the "
     "consumer's alone.\n\n"
     "The capsule holds a reference to the array's bytes, not to this object, and needs no "
     "interpreter to give it\n"
     "back. Raises BufferError when the data cannot be described, or when waiting would spoil a "
     "graph that is being\n"
     "captured, ValueError for a stream, TypeError for a malformed keyword."},
    {"__dlpack_device__", method<&array_dlpack_device>(), METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n"
     "The device of the array as (DLDeviceType, id), as DLPack numbers devices (array API "
     "2025.12)."},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef kProducerFunctions[] = {
    {"to_capsule", method<&module_to_capsule>(), METH_FASTCALL | METH_KEYWORDS,
     "to_capsule($module, x, /, *, stream=None, max_version=None, dl_device=None, "
     "copy=None)\n--\n\n"
     "A bare DLPack capsule of an array, for libraries that still pass capsules around.\n\n"
     "The keywords are those of Array.__dlpack__; the capsule is a legacy one unless max_version "
     "asks for more.\n"
     "It has one consumer: whoever takes it first owns the tensor; unconsumed, it gives the memory "
     "back itself."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
