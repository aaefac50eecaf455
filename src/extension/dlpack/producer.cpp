// Foreign DLPack producers: looking up their methods and exchange table on the type, and calling
// them.
#include "extension/dlpack/producer.hpp"

#include <array>
#include <string_view>

#include "dlpack/exchange_api.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/recursion.hpp"
#include "extension/dlpack/keywords.hpp"
#include "extension/interop/numpy_types.hpp"
#include "extension/interop/protocol_order.hpp"

namespace refarray::extension {
namespace {

// --- Lookup.

struct Found {
  Ref value;           // empty: not found
  Py_ssize_t at = -1;  // its position in the MRO
};

/// Searches the __dict__ of each type in the MRO, so that neither the instance nor a metaclass's
/// __getattr__ can supply an attribute.
Found find_on_type(const State& state, PyTypeObject* type, PyObject* name) {
  const Ref mro = check(
      calling<PyObject_GetAttr>(reinterpret_cast<PyObject*>(type), state.get(Slot::kMroName)));
  const Py_ssize_t count = PyTuple_Check(mro.get()) ? PyTuple_Size(mro.get()) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* base = PyTuple_GetItem(mro.get(), i);
    const Ref dict = check(calling<PyObject_GetAttr>(base, state.get(Slot::kDictName)));
    if (check(calling<PySequence_Contains>(dict.get(), name)) == 0) continue;
    Ref value = Ref::steal(calling<PyObject_GetItem>(dict.get(), name));
    if (value) return {std::move(value), i};
    if (PyErr_ExceptionMatches(PyExc_KeyError) == 0) throw ErrorSet{};
    compat::clear_raised();  // another thread has just deleted it
  }
  return {};
}

bool is_immutable(PyTypeObject* type) noexcept {
  const unsigned long flags = PyType_GetFlags(type);
  return (flags & Py_TPFLAGS_HEAPTYPE) == 0 || (flags & Py_TPFLAGS_IMMUTABLETYPE) != 0;
}

bool is_named(PyObject* object, const char* attribute, const char* expected) {
  const Ref text = check(PyObject_GetAttrString(object, attribute));
  return PyUnicode_Check(text.get()) && PyUnicode_CompareWithASCIIString(text.get(), expected) == 0;
}

/// Whether this is NumPy's own __dlpack_device__. An ndarray is always on the CPU, so the call, a
/// quarter of an exchange, can be omitted. Subclasses that override the method are called.
bool is_numpys(PyObject* descriptor) {
  Ref owner = Ref::steal(PyObject_GetAttrString(descriptor, "__objclass__"));
  if (!owner) {
    compat::clear_raised();  // not a C method, hence not NumPy's
    return false;
  }
  return PyType_Check(owner.get()) && is_immutable(reinterpret_cast<PyTypeObject*>(owner.get())) &&
         is_named(owner.get(), "__name__", "ndarray") &&
         is_named(owner.get(), "__module__", "numpy");
}

const DLPackExchangeAPI* table_in(PyObject* capsule) noexcept {
  if (!PyCapsule_IsValid(capsule, dlpack::kExchangeCapsule)) return nullptr;  // also None, an int
  return dlpack::usable_table(static_cast<const DLPackExchangeAPI*>(
      PyCapsule_GetPointer(capsule, dlpack::kExchangeCapsule)));
}

/// The type's exchange table. A class that overrides __dlpack__ and inherits the table from a base
/// has none: the override must be called. `dlpack_at`: where __dlpack__ is in the MRO.
const DLPackExchangeAPI* find_table(State& state, PyTypeObject* type, Py_ssize_t dlpack_at) {
  const Found found = find_on_type(state, type, state.get(Slot::kExchangeName));
  if (found.at >= 0 && dlpack_at >= 0 && dlpack_at < found.at) return nullptr;
  const Ref capsule = Ref::steal(
      calling<PyObject_GetAttr>(reinterpret_cast<PyObject*>(type), state.get(Slot::kExchangeName)));
  if (capsule) return table_in(capsule.get());
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw ErrorSet{};
  compat::clear_raised();
  return nullptr;
}

void set_methods(ProducerInfo& producer, Ref dlpack, Ref dlpack_device) noexcept {
  producer.dlpack = dlpack.get();
  producer.dlpack_device = dlpack_device.get();
  producer.references[0] = std::move(dlpack);
  producer.references[1] = std::move(dlpack_device);
  producer.methods_known = true;
}

}  // namespace

ProducerInfo look_up_producer(State& state, PyObject* x) {
  const Ref held = Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(x)));  // metaclasses run code
  auto* type = reinterpret_cast<PyTypeObject*>(held.get());
  refuse_masked(state, x);
  ProducerInfo out;
  Found dlpack = find_on_type(state, type, state.get(Slot::kDlpackName));
  set_methods(out, std::move(dlpack.value),
              find_on_type(state, type, state.get(Slot::kDlpackDeviceName)).value);
  out.table = find_table(state, type, dlpack.at);
  if (is_immutable(type) && out.has_methods()) {
    out.host_only = is_numpys(out.dlpack_device);
    state.remember_producer({held.get(), out.dlpack, out.dlpack_device, out.table, out.host_only});
  } else if (out.table != nullptr) {  // consumers may cache the table per type (CAPI-03)
    state.remember_producer({held.get(), nullptr, nullptr, out.table, false});
  }
  return out;
}

void find_methods(const State& state, PyObject* x, ProducerInfo& producer) {
  if (producer.methods_known) return;
  Ref dlpack = find_on_type(state, Py_TYPE(x), state.get(Slot::kDlpackName)).value;
  set_methods(producer, std::move(dlpack),
              find_on_type(state, Py_TYPE(x), state.get(Slot::kDlpackDeviceName)).value);
}

Ref find_on_type_of(const State& state, PyObject* object, PyObject* name) {
  return find_on_type(state, Py_TYPE(object), name).value;
}

void raise_missing_methods(PyObject* x, const ProducerInfo& producer) {
  const char* missing = producer.dlpack != nullptr          ? "__dlpack_device__"
                        : producer.dlpack_device != nullptr ? "__dlpack__"
                                                            : "__dlpack__ and __dlpack_device__";
  const char* hint = PyCapsule_CheckExact(x) ? "; use from_capsule() for a bare capsule" : "";
  raise(PyExc_AttributeError, "from_dlpack(): the type %R has no %s%s",
        reinterpret_cast<PyObject*>(Py_TYPE(x)), missing, hint);
}

Ref call_on_type(PyObject* descriptor, PyObject* const* args, std::size_t count,
                 PyObject* kwnames) {
  PyTypeObject* kind = Py_TYPE(descriptor);
  if ((PyType_GetFlags(kind) & Py_TPFLAGS_METHOD_DESCRIPTOR) != 0) {  // no bound method is needed
    return check(compat::park_at_exit(
        [&] { return PyObject_Vectorcall(descriptor, args, count, kwnames); }));
  }
  PyObject* self = args[0];
  const auto get = reinterpret_cast<descrgetfunc>(PyType_GetSlot(kind, Py_tp_descr_get));
  const auto bind = [&] {
    return get(descriptor, self, reinterpret_cast<PyObject*>(Py_TYPE(self)));
  };
  const Ref bound = get == nullptr ? Ref::borrow(descriptor) : check(compat::park_at_exit(bind));
  return check(compat::park_at_exit(
      [&] { return PyObject_Vectorcall(bound.get(), args + 1, count - 1, kwnames); }));
}

DLDevice call_dlpack_device(PyObject* x, const ProducerInfo& producer) {
  PyObject* args[] = {x};
  const Ref answer = call_on_type(producer.dlpack_device, args, 1, nullptr);
  return to_announced_device(answer.get());
}

dlpack::Managed<DLManagedTensorVersioned> call_table(const DLPackExchangeAPI& table, PyObject* x) {
  DLManagedTensorVersioned* raw = nullptr;
  const int status =
      compat::park_at_exit([&] { return table.managed_tensor_from_py_object_no_sync(x, &raw); });
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

/// Takes the pending TypeError; other exceptions propagate (CONS-03). Throws ProtocolRefused if a
/// retry would drop what was asked for: copy=False, or a device that the data is not on (COPY-09).
Ref take_type_error(const State& state, const DlpackArguments& arguments) {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw_exporter_error();
  Ref error = Ref::steal(compat::take_raised());
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
  } catch (const ErrorSet&) {  // boundary: see above
    PyObject* second = compat::take_raised();
    chain_errors(second, std::move(first));
    compat::restore_raised(second);
    throw_exporter_error();
  }
}

}  // namespace

Ref call_dlpack(const State& state, PyObject* x, const ProducerInfo& producer,
                const DlpackArguments& arguments) {
  const RecursionGuard guard(" in from_dlpack()", !producer.host_only && !is_array(state, x));
  DlpackCall call(state, x);
  call.add(Key::kMaxVersion, arguments.max_version);
  call.add(Key::kStream, arguments.stream);
  call.add(Key::kDlDevice, arguments.dl_device);
  call.add(Key::kCopy, arguments.copy);
  try {  // boundary: a TypeError may mean that the producer is too old for a keyword
    return call.call(producer.dlpack);
  } catch (const ErrorSet&) {  // boundary: see above
  }
  return retry(state, x, producer.dlpack, arguments, take_type_error(state, arguments));
}

}  // namespace refarray::extension
