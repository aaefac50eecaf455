// Owns the conversation with a producer: keywords, the one retry for old producers, and the capsule
// it answers with.
#include "extension/dlpack/import_request.hpp"

#include <array>
#include <cstring>

#include "core/error.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/gil.hpp"
#include "extension/devices/devices.hpp"
#include "extension/dlpack/capsule.hpp"
#include "extension/dlpack/keywords.hpp"
#include "extension/interop/protocol_order.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

/// One call of __dlpack__: self and the keywords that are not left at their defaults (CONS-09). A
/// stream for device memory only (CONS-08, STRM-01).
class DlpackCall {
 public:
  DlpackCall(const State& state, PyObject* x) : state_(state), args_{x} {}

  void add(Key key, PyObject* value) noexcept {
    names_[count_] = state_.get(key);
    args_[++count_] = value;
  }
  Ref call(PyObject* descriptor) const {
    if (count_ == 0) return call_on_type(descriptor, args_.data(), 1, nullptr);
    if (count_ == 1 &&
        names_[0] == state_.get(Key::kMaxVersion)) {  // the usual case: its tuple is kept
      return call_on_type(descriptor, args_.data(), 1, state_.get(Slot::kKwMaxVersion));
    }
    const Ref names = check(PyTuple_New(static_cast<Py_ssize_t>(count_)));
    for (std::size_t i = 0; i < count_; ++i) {
      check(PyTuple_SetItem(names.get(), static_cast<Py_ssize_t>(i),
                            Ref::borrow(names_[i]).release()));
    }
    return call_on_type(descriptor, args_.data(), 1, names.get());
  }

 private:
  const State& state_;
  std::array<PyObject*, 5> args_;
  std::array<PyObject*, 4> names_{};
  std::size_t count_ = 0;
};

/// __dlpack_device__() as two int32; the answer's form is the producer's duty, so a bad one is a
/// TypeError (DEV-01).
DLDevice ask_device(PyObject* x, PyObject* descriptor) {
  PyObject* args[] = {x};
  const Ref answer = call_on_type(descriptor, args, 1, nullptr);
  return to_announced_device(answer.get());
}

bool is_host(DLDevice device) noexcept {
  const auto type = static_cast<std::int32_t>(device.device_type);
  return type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost;
}

/// Which keywords a TypeError blames. CPython names the first one that a signature does not have,
/// and max_version is passed first: if it is not that one, the producer knows versions but is older
/// than copy= and dl_device=.
bool blames_newer_keyword(PyObject* error) {
  const Ref message = check(calling<PyObject_Str>(error));
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(message.get(), &size);
  if (text == nullptr) throw ErrorSet{};
  const std::string_view view(text, static_cast<std::size_t>(size));
  return view.find("max_version") == view.npos &&
         (view.find("'copy'") != view.npos || view.find("'dl_device'") != view.npos);
}

/// Takes the pending TypeError; any other exception goes on (CONS-03). The old producer must not be
/// asked again if what was asked for cannot be dropped: no copy, or a device that it is not on
/// (COPY-09).
Ref take_type_error(const State& state, const ImportRequest& request, bool device_differs) {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw_exporter_error();
  Ref error = Ref::steal(compat::take_raised());
  const bool no_copy = request.copy == dlpack::Copy::kNever;
  if (!no_copy && !device_differs) return error;
  PyObject* type = no_copy ? state.get(Slot::kNoCopyError) : PyExc_BufferError;
  PyErr_SetString(type, no_copy ? "from_dlpack(): copy=False, but the producer does not take copy="
                                : "from_dlpack(): another device was asked for, but the producer "
                                  "does not take dl_device=");
  Ref refusal = Ref::steal(compat::take_raised());
  PyException_SetContext(refusal.get(), Ref::borrow(error.get()).release());
  PyException_SetCause(refusal.get(), error.release());
  compat::restore_raised(refusal.release());
  throw ProtocolRefused{};
}

/// The second and last try; when it fails too, the first error is its context (A-41).
Ref retry(const State& state, PyObject* x, PyObject* dlpack, PyObject* version, PyObject* stream,
          Ref first) {
  DlpackCall call(state, x);
  if (stream != nullptr) call.add(Key::kStream, stream);
  if (blames_newer_keyword(first.get())) call.add(Key::kMaxVersion, version);
  try {  // boundary: the second error must carry the first
    return call.call(dlpack);
  } catch (const ErrorSet&) {  // boundary: as above
    PyObject* second = compat::take_raised();
    chain_errors(second, std::move(first));
    compat::restore_raised(second);
    throw_exporter_error();
  }
}

/// Guards against a producer that calls from_dlpack on itself: RecursionError, at linear cost.
class RecursionGuard {
 public:
  /// NumPy's own method and ours call nobody back, and need no guard.
  explicit RecursionGuard(bool needed) : needed_(needed) {
    if (needed) check(Py_EnterRecursiveCall(" in from_dlpack()"));
  }
  RecursionGuard(const RecursionGuard&) = delete;
  RecursionGuard& operator=(const RecursionGuard&) = delete;
  ~RecursionGuard() {
    if (needed_) Py_LeaveRecursiveCall();
  }

 private:
  bool needed_;
};

/// A producer is asked for host memory; onto a device we copy ourselves, since few producers do.
bool asks_for_device(const ImportRequest& request) noexcept {
  return request.device && request.device->is_host();
}

/// What to pass as stream=: the stream that we work on, where the data has one; else empty.
Ref stream_for(const ImportRequest& request, DLDevice announced) {
  const std::optional<core::Device> device = streamed(announced);
  if (!device || asks_for_device(request)) return {};
  const auto stream = [&] {
    const GilRelease others_run(true);
    return static_cast<unsigned long long>(runtime::stream_to_pass(*device));
  }();
  return check(PyLong_FromUnsignedLongLong(stream));
}

Ref ask_dlpack(const State& state, PyObject* x, const Offer& offer, const ImportRequest& request,
               DLDevice announced) {
  const RecursionGuard guard(!offer.host_only && !is_array(state, x));
  PyObject* version =
      request.max_version != nullptr ? request.max_version : state.get(Slot::kOurVersion);
  DlpackCall call(state, x);
  call.add(Key::kMaxVersion, version);
  const Ref stream = stream_for(request, announced);
  if (stream) call.add(Key::kStream, stream.get());
  Ref device;
  bool device_differs = false;
  if (asks_for_device(request)) {
    const DLDevice wanted = dlpack::to_dlpack(*request.device);
    device = check(Py_BuildValue("(ii)", static_cast<int>(wanted.device_type), wanted.device_id));
    // Host memory of any label can be relabelled as the CPU's without the producer (A-25).
    device_differs = wanted.device_type != announced.device_type &&
                     !(wanted.device_type == kDLCPU && is_host(announced));
    call.add(Key::kDlDevice, device.get());
  }
  if (request.copy != dlpack::Copy::kIfNeeded) {
    call.add(Key::kCopy, request.copy == dlpack::Copy::kAlways ? Py_True : Py_False);
  }
  try {  // boundary: a TypeError may mean "too old for these keywords"
    return call.call(offer.dlpack);
  } catch (const ErrorSet&) {  // boundary: as above
  }
  return retry(state, x, offer.dlpack, version, stream.get(),
               take_type_error(state, request, device_differs));
}

[[noreturn]] void refuse_capsule(PyObject* capsule, PyObject* producer) {
  if (!PyCapsule_CheckExact(capsule)) {
    if (producer == nullptr) {
      raise(PyExc_TypeError, "from_capsule() takes a DLPack capsule, not %R",
            reinterpret_cast<PyObject*>(Py_TYPE(capsule)));
    }
    raise(PyExc_TypeError, "__dlpack__() of %R returned %R, not a capsule",
          reinterpret_cast<PyObject*>(Py_TYPE(producer)),
          reinterpret_cast<PyObject*>(Py_TYPE(capsule)));
  }
  const CapsuleName name = name_of(capsule);
  if (!name.given) {
    raise(PyExc_BufferError, "the capsule has no name; it must be \"%s\" or \"%s\"",
          dlpack::Wire<DLManagedTensorVersioned>::capsule, dlpack::Wire<DLManagedTensor>::capsule);
  }
  const bool used = std::strcmp(name.text, dlpack::Wire<DLManagedTensorVersioned>::used) == 0 ||
                    std::strcmp(name.text, dlpack::Wire<DLManagedTensor>::used) == 0;
  raise(PyExc_BufferError,
        used ? "the capsule has been consumed already (its name is \"%s\")"
             : "the capsule's name is \"%s\", which is not a DLPack name",
        name.text);
}

}  // namespace

void import_capsule(PyObject* capsule, PyObject* producer, dlpack::Imported& out) {
  if (PyCapsule_CheckExact(capsule)) {
    if (auto tensor = take<DLManagedTensorVersioned>(capsule)) {
      prepare_import(*tensor);
      return dlpack::to_array(std::move(tensor), out);
    }
    if (auto tensor = take<DLManagedTensor>(capsule)) {
      prepare_import(*tensor);
      return dlpack::to_array(std::move(tensor), out);
    }
  }
  refuse_capsule(capsule, producer);
}

namespace {

/// The producer works on a stream of its own, which its table tells (CAPI-25).
[[gnu::noinline]] void order_after_table(const DLPackExchangeAPI& table, PyObject* x,
                                         dlpack::Imported& in) {
  const DLDevice device = dlpack::to_dlpack(in.device);
  void* stream = nullptr;
  if (table.current_work_stream(device.device_type, device.device_id, &stream) != 0) {
    drop_storage(std::move(in.array.storage));
    if (PyErr_Occurred() != nullptr) throw_exporter_error();
    raise(PyExc_BufferError, "the exchange table of %R does not tell its stream",
          reinterpret_cast<PyObject*>(Py_TYPE(x)));
  }
  const GilRelease others_run(true);
  runtime::adopt_from(*in.array.storage.get(), stream);
}

}  // namespace

void import_by_table(const DLPackExchangeAPI& table, PyObject* x, dlpack::Imported& out) {
  DLManagedTensorVersioned* raw = nullptr;
  const int status = table.managed_tensor_from_py_object_no_sync(x, &raw);
  if (status != 0) {  // CAPI-11; what it left in raw is not ours
    if (PyErr_Occurred() != nullptr) throw_exporter_error();
    raise(PyExc_BufferError, "the exchange table of %R failed (%d) without saying why",
          reinterpret_cast<PyObject*>(Py_TYPE(x)), status);
  }
  dlpack::Managed<DLManagedTensorVersioned> tensor(raw);
  if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(x);  // it said that all is well
  if (!tensor) {
    raise(PyExc_BufferError, "the exchange table of %R returned no tensor",
          reinterpret_cast<PyObject*>(Py_TYPE(x)));
  }
  prepare_import(*tensor);
  dlpack::to_array(std::move(tensor), out);
  if (!out.device.is_host()) [[unlikely]]
    order_after_table(table, x, out);
}

namespace {

/// DEV-07, before the producer does any work.
[[gnu::cold]] void refuse_unusable(DLDevice announced) {
  const std::optional<core::Device> device = streamed(announced);
  if (device) open_device(*device);
  if (device && runtime::can_allocate(*device)) return;
  std::string why;
  if (device) {
    try {  // boundary: the reason goes into our own message
      runtime::require(*device);
    } catch (const core::Error& error) {  // boundary: as above
      why = core::text(" (", error.what(), ")");
    }
  }
  core::fail(core::Fault::kBuffer, "from_dlpack(): the producer's device is ",
             dlpack::device_text(announced), ", which this process cannot use", why,
             "; device=\"cpu\" asks for a copy in host memory");
}

}  // namespace

void import_by_dunder(const State& state, PyObject* x, const Offer& offer,
                      const ImportRequest& request, dlpack::Imported& out) {
  DLDevice announced{kDLCPU, 0};
  if (is_array(state, x)) {
    announced = dlpack::to_dlpack(view_of(x).device());  // our own: no need to ask
  } else if (!offer.host_only) {
    announced = ask_device(x, offer.dlpack_device);
  }
  if (!asks_for_device(request) && !is_host(announced)) refuse_unusable(announced);
  if (request.device && !request.device->is_host() && request.copy == dlpack::Copy::kNever &&
      *request.device != streamed(announced)) {
    core::fail(core::Fault::kNoCopy, "from_dlpack(): copy=False, but from ",
               dlpack::device_text(announced), " to ", core::name(*request.device),
               " there is no way without a copy");
  }
  const Ref capsule = ask_dlpack(state, x, offer, request, announced);
  out.as_cpu = request.device && *request.device == core::Device{};
  import_capsule(capsule.get(), x, out);
  if (!out.device.is_host()) [[unlikely]] {
    const GilRelease others_run(true);
    runtime::adopt(*out.array.storage.get());
  }
}

}  // namespace refarray::extension
