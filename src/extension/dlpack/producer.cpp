// Foreign DLPack producers: looking up their methods and exchange table on the type, and calling
// them.
#include "extension/dlpack/producer.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "dlpack/exchange_api.hpp"
#include "dlpack/import.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/capi/methods.hpp"
#include "extension/devices/exchange_arguments.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/foreign_objects.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

/// Whether an attribute of the type may come from its metaclass.
bool metaclass_may_have(const State& state, PyTypeObject* type, PyObject* name) {
  PyTypeObject* metaclass = Py_TYPE(reinterpret_cast<PyObject*>(type));
  return metaclass != &PyType_Type && (PyType_GetSlot(metaclass, Py_tp_getattro) !=
                                           PyType_GetSlot(&PyType_Type, Py_tp_getattro) ||
                                       find_on_type(state, metaclass, name));
}

}  // namespace

const DLPackExchangeAPI* table_in(PyObject* capsule) noexcept {
  if (!PyCapsule_IsValid(capsule, dlpack::kExchangeCapsule)) return nullptr;  // also None, an int
  return dlpack::usable_table(static_cast<const DLPackExchangeAPI*>(
      PyCapsule_GetPointer(capsule, dlpack::kExchangeCapsule)));
}

const DLPackExchangeAPI* find_table(const State& state, PyTypeObject* type) {
  PyObject* name = state.get(Slot::kExchangeName);
  const Ref found = find_on_type(state, type, name);
  if (found && PyCapsule_CheckExact(found.get())) return table_in(found.get());
  if (!found && !metaclass_may_have(state, type, name)) return nullptr;
  const Ref capsule =
      Ref::steal(calling<PyObject_GetAttr>(reinterpret_cast<PyObject*>(type), name));
  if (capsule) return table_in(capsule.get());
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw ErrorSet{};
  compat::clear_raised();
  return nullptr;
}

ProducerInfo look_up_producer(State& state, PyObject* x) {
  ProducerInfo out;
  bool opts_out = false;  // by None in the place of a method: of the table too
  const auto method = [&](Slot name, Ref& reference) {
    reference = find_on_type(state, Py_TYPE(x), state.get(name));
    if (reference.get() != Py_None) return reference.get();
    opts_out = true;
    return static_cast<PyObject*>(nullptr);
  };
  out.dlpack = method(Slot::kDlpackName, out.references[0]);
  out.dlpack_device = method(Slot::kDlpackDeviceName, out.references[1]);
  // Held because the lookup of a table runs code of a metaclass, which may change the class of `x`.
  const Ref held = Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(x)));
  auto* type = reinterpret_cast<PyTypeObject*>(held.get());
  refuse_masked(state, x);
  if (!out.has_methods() && !opts_out) out.table = find_table(state, type);
  const bool is_constant = is_static(type) || type == state.array_type();
  if (is_constant && (out.has_methods() || out.table != nullptr)) {
    out.is_ndarray = is_ndarray(state, type);
    state.remember_producer({type, out.dlpack, out.dlpack_device, out.table, out.is_ndarray});
  }
  return out;
}

void raise_missing_methods(PyObject* x, const ProducerInfo& producer) {
  const char* missing = producer.dlpack != nullptr          ? "__dlpack_device__"
                        : producer.dlpack_device != nullptr ? "__dlpack__"
                                                            : "__dlpack__ and __dlpack_device__";
  const bool has_neither = producer.dlpack == nullptr && producer.dlpack_device == nullptr;
  const char* hint = PyCapsule_CheckExact(x) ? "; use from_capsule() for a bare capsule"
                     : has_neither           ? "; use asarray() for sequences, numbers and buffers"
                                             : "";
  raise(PyExc_AttributeError, "from_dlpack(): the type %R has no %s%s",
        reinterpret_cast<PyObject*>(Py_TYPE(x)), missing, hint);
}

namespace {

/// Whether a call of the descriptor with the object as first argument needs no bound method.
bool is_method_descriptor(PyObject* descriptor) noexcept {
  return PyType_HasFeature(Py_TYPE(descriptor), Py_TPFLAGS_METHOD_DESCRIPTOR) != 0;
}

Ref vectorcall(PyObject* function, PyObject* const* args, std::size_t count, PyObject* kwnames) {
  return check(calling([&] { return PyObject_Vectorcall(function, args, count, kwnames); }));
}

}  // namespace

Ref bind_on_type(PyObject* descriptor, PyObject* self) {
  const descrgetfunc get = compat::descr_get_of(Py_TYPE(descriptor));
  if (get == nullptr) return Ref::borrow(descriptor);
  return check(
      calling([&] { return get(descriptor, self, reinterpret_cast<PyObject*>(Py_TYPE(self))); }));
}

Ref call_on_type(PyObject* descriptor, PyObject* const* args, std::size_t count,
                 PyObject* kwnames) {
  if (is_method_descriptor(descriptor)) return vectorcall(descriptor, args, count, kwnames);
  const Ref bound = bind_on_type(descriptor, args[0]);
  return vectorcall(bound.get(), args + 1, count - 1, kwnames);
}

AnnouncedDevice ask_device(const State& state, PyObject* x, const ProducerInfo& producer) {
  if (producer.is_ndarray) return {};
  PyObject* args[] = {x};
  const DLDevice named =
      to_announced_device(state, call_on_type(producer.dlpack_device, args, 1, nullptr).get());
  return {named, dlpack::to_core_normalized(named)};
}

namespace {

[[gnu::cold]] void refuse_if_unusable(const AnnouncedDevice& announced) {
  const std::optional<core::Device>& device = announced.device;
  if (device) open_device(*device);
  if (device && runtime::can_allocate(*device)) return;
  std::string why;
  if (device) {
    try {  // boundary: the reason becomes part of the message below
      runtime::require(*device);
    } catch (const core::Error& error) {
      why = core::text(" (", error.what(), ")");
    }
  }
  core::fail(core::Fault::kBuffer, "from_dlpack(): the producer's device is ",
             dlpack::device_text(announced.named), ", which this process cannot use", why,
             "; device=\"cpu\" asks for a copy in host memory");
}

}  // namespace

void refuse_devices(const ImportRequest& request, const AnnouncedDevice& announced) {
  if (!request.asks_for_host() && !announced.is_host()) refuse_if_unusable(announced);
  if (request.device && !request.device->is_host() && request.copy == dlpack::Copy::kNever &&
      *request.device != announced.device) {
    core::fail(core::Fault::kNoCopy, "from_dlpack(): copy=False, but from ",
               dlpack::device_text(announced.named), " to ", core::name(*request.device),
               " the data has to be copied");
  }
}

dlpack::Managed<DLManagedTensorVersioned> call_table(const DLPackExchangeAPI& table, PyObject* x) {
  DLManagedTensorVersioned* raw = nullptr;
  const int status = calling([&] { return table.managed_tensor_from_py_object_no_sync(x, &raw); });
  if (status != 0) {  // CAPI-11: on failure nothing in `raw` is ours
    if (PyErr_Occurred() != nullptr) throw_exporter_error();
    raise(PyExc_BufferError, "the exchange table of %R failed (%d) without setting an exception",
          reinterpret_cast<PyObject*>(Py_TYPE(x)), status);
  }
  dlpack::Managed<DLManagedTensorVersioned> tensor(
      raw);  // [6] take: the tensor is ours from here on
  if (PyErr_Occurred() != nullptr) report_unraisable(x);  // set although it reported success
  if (!tensor) {
    raise(PyExc_BufferError, "the exchange table of %R returned no tensor",
          reinterpret_cast<PyObject*>(Py_TYPE(x)));
  }
  return tensor;
}

// --- Calling __dlpack__.

namespace {

/// The vectorcall arguments of one call of __dlpack__.
class DlpackCall {
 public:
  DlpackCall(const State& state, PyObject* x) : state_(state), args_{x} {}

  /// Ignores nullptr: the keyword keeps its default.
  void add(Key key, PyObject* value) noexcept {
    if (value == nullptr) return;
    names_[count_] = state_.get(key);
    args_[++count_] = value;
  }
  Ref call(PyObject* descriptor) const {
    if (count_ == 0) return call_on_type(descriptor, args_.data(), 1, nullptr);
    if (count_ == 1 && names_[0] == state_.get(Key::kMaxVersion)) {  // the state has this tuple
      return call_on_type(descriptor, args_.data(), 1, state_.get(Slot::kKwMaxVersion));
    }
    const Ref names = check(calling<PyTuple_New>(static_cast<Py_ssize_t>(count_)));
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

/// Whether a TypeError names `copy` or `dl_device` and not `max_version`. CPython names the first
/// unknown keyword and max_version is passed first, so such a producer knows max_version.
bool knows_max_version(PyObject* error) {
  const Ref message = check(calling<PyObject_Str>(error));
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(message.get(), &size);
  if (text == nullptr) throw ErrorSet{};
  const std::string_view view(text, static_cast<std::size_t>(size));
  return view.find("max_version") == view.npos &&
         (view.find("'copy'") != view.npos || view.find("'dl_device'") != view.npos);
}

/// Takes the pending TypeError about a keyword; others, and those that the body of the producer's
/// method raised, propagate (CONS-03). Throws ProtocolRefused if a retry would drop what was asked
/// for: copy=False, or a device that the data is not on (COPY-09).
Ref take_type_error(const State& state, const DlpackArguments& arguments) {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw_exporter_error();
  Ref error = Ref::steal(compat::take_raised());
  if (was_entered(error.get())) {
    compat::restore_raised(error.release());
    throw_exporter_error();
  }
  const bool no_copy = arguments.copy == Py_False;
  if (!no_copy && !arguments.needs_dl_device) return error;
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

/// The second and last call. If it fails too, the first error is its context.
Ref retry(const State& state, PyObject* x, PyObject* dlpack, const DlpackArguments& arguments,
          Ref first) {
  DlpackCall call(state, x);
  call.add(Key::kStream, arguments.stream);
  if (knows_max_version(first.get())) call.add(Key::kMaxVersion, arguments.max_version);
  try {  // boundary: the second error must carry the first
    return call.call(dlpack);
  } catch (const ErrorSet&) {
    PyObject* second = compat::take_raised();
    chain_errors(second, std::move(first));
    compat::restore_raised(second);
    throw_exporter_error();
  }
}

}  // namespace

Ref call_dlpack(const State& state, PyObject* x, const ProducerInfo& producer,
                const DlpackArguments& arguments) {
  DlpackCall call(state, x);
  call.add(Key::kMaxVersion, arguments.max_version);
  call.add(Key::kStream, arguments.stream);
  call.add(Key::kDlDevice, arguments.dl_device);
  call.add(Key::kCopy, arguments.copy);
  try {  // boundary: a TypeError may mean that the producer is too old for a keyword
    return call.call(producer.dlpack);
  } catch (const ErrorSet&) {
  }
  return retry(state, x, producer.dlpack, arguments, take_type_error(state, arguments));
}

}  // namespace refarray::extension
