// Owns from_dlpack: the order in which a producer is asked, and what its answer is checked for.
// Steps 6 to 8.
#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/devices/devices.hpp"
#include "extension/dlpack/import_request.hpp"
#include "extension/dlpack/keywords.hpp"
#include "extension/dlpack/producer.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

constexpr Signature<4> kFromDlpack{
    "from_dlpack", {Key::kX, Key::kDevice, Key::kCopy, Key::kMaxVersion}, 1, 1};
constexpr Signature<1> kFromCapsule{"from_capsule", {Key::kCapsule}, 1, 1};

ImportRequest to_request(const State& state, PyObject* device, PyObject* copy,
                         PyObject* max_version) {
  ImportRequest request;
  request.copy = to_copy(copy);
  if (is_given(device)) request.device = to_device_value(state, device);
  if (is_given(max_version)) {
    // Above ours is lowered to ours: we must be able to read the answer. Equal to ours is passed on
    // as our own tuple.
    const VersionRequest asked = to_version_request(state, max_version);
    const bool ours = asked == VersionRequest::kNewer || asked == VersionRequest::kOurs;
    request.max_version = ours ? state.get(Slot::kOurVersion) : max_version;
  }
  if (request.device && !request.device->is_host()) {
    open_device(*request.device);
    runtime::require(*request.device);
  }
  return request;
}

/// The shortest way: an array of ours shares its storage, and no managed tensor is needed.
Ref import_own(const State& state, PyObject* x, dlpack::Copy copy) {
  if (copy != dlpack::Copy::kAlways) return alias_array(state, x);
  const core::ArrayView view = view_of(x);
  return make_array(state, copy_to_new(view, view.dtype, default_copy_device(view.device())));
}

/// What came in is ours to answer for: copy= and device= hold whatever the producer did.
Ref finish(const State& state, dlpack::Imported&& in, const ImportRequest& request) {
  const core::Device delivered = in.device;
  if (request.copy == dlpack::Copy::kNever && in.copied) {  // COPY-08
    drop_storage(std::move(in.array.storage));
    core::fail(core::Fault::kNoCopy,
               "from_dlpack(): copy=False, but the producer made a copy (IS_COPIED is set)");
  }
  const bool moves = request.device && *request.device != delivered;
  // COPY-10: the struct tells where the data is. Host memory was asked for as such; onto a device,
  // and from one, we copy.
  if (moves && (request.copy == dlpack::Copy::kNever ||
                (request.device->is_host() && delivered.is_host()))) {
    drop_storage(std::move(in.array.storage));
    core::fail(core::Fault::kBuffer, "from_dlpack(): device ", core::name(*request.device),
               " was asked for, but the producer delivered ", core::name(delivered));
  }
  const bool needs_copy =
      moves || (request.copy == dlpack::Copy::kAlways && (!in.copied || in.array.readonly));
  if (!needs_copy) return make_array(state, std::move(in.array));
  const core::Device target = moves ? *request.device : default_copy_device(delivered);
  core::Array copy = copy_to_new(in.array, in.array.dtype, target);  // COPY-05, COPY-07
  drop_storage(std::move(in.array.storage));
  return make_array(state, std::move(copy));
}

/// Through the exchange table; empty when the answer is not to be trusted: a lazily conjugated
/// complex tensor looks like any other in a DLTensor, and PyTorch's table exports it unconjugated
/// where its
/// __dlpack__ refuses it. So complex data is asked for again through the dunder.
Ref import_fast(const State& state, PyObject* x, const DLPackExchangeAPI& table) {
  dlpack::Imported in;
  import_by_table(table, x, in);
  if (!in.array.dtype.is_complex()) return make_array(state, std::move(in.array));
  drop_storage(std::move(in.array.storage));
  return {};
}

Ref import_by_protocol(State& state, PyObject* x, Offer& offer, const ImportRequest& request) {
  find_dunders(state, x, offer);
  if (!offer.is_complete()) raise_missing_dunders(x, offer);
  dlpack::Imported in;
  import_by_dunder(state, x, offer, request, in);
  return finish(state, std::move(in), request);
}

/// The long way, for a type that is not remembered, or only with a table that was no use.
[[gnu::noinline]] Ref import_foreign(State& state, PyObject* x, const DLPackExchangeAPI* tried) {
  Offer offer = look_up(state, x);
  if (offer.table != nullptr && tried == nullptr) {
    if (Ref array = import_fast(state, x, *offer.table)) return array;
  }
  find_dunders(state, x, offer);
  if (offer.table == nullptr || offer.is_complete()) return import_by_protocol(state, x, offer, {});
  dlpack::Imported in;  // a type with nothing but a table
  import_by_table(*offer.table, x, in);
  return make_array(state, std::move(in.array));
}

/// from_dlpack(x) with nothing asked for: short for our own arrays and for types with a remembered
/// table.
[[gnu::flatten, gnu::noinline]] Ref import_plain(State& state, PyObject* x) {
  if (is_array(state, x)) return alias_array(state, x);
  const Producer* known = state.find_producer(reinterpret_cast<PyObject*>(Py_TYPE(x)));
  if (known == nullptr) return import_foreign(state, x, nullptr);
  if (known->table != nullptr) {
    Ref array = import_fast(state, x, *known->table);
    return array ? std::move(array) : import_foreign(state, x, known->table);
  }
  dlpack::Imported in;
  import_by_dunder(state, x, remembered(*known), {}, in);
  return make_array(state, std::move(in.array));
}

Ref import_any(State& state, PyObject* x, const ImportRequest& request) {
  if (request.is_plain()) return import_plain(state, x);
  if (is_array(state, x) && request.max_version == nullptr &&
      (!request.device || *request.device == view_of(x).device())) {
    return import_own(state, x, request.copy);
  }
  Offer offer = look_up(state, x);
  return import_by_protocol(state, x, offer, request);
}

Ref module_from_dlpack(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                       PyObject* kwnames) {
  State& state = State::of_module(module);
  if (nargs == 1 && kwnames == nullptr) {
    return is_array(state, args[0]) ? alias_array(state, args[0]) : import_plain(state, args[0]);
  }
  const auto [x, device, copy, max_version] = bind(kFromDlpack, state, args, nargs, kwnames);
  return array_from_dlpack(state, x, device, copy, max_version);
}

Ref module_from_capsule(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [capsule] = bind(kFromCapsule, state, args, nargs, kwnames);
  dlpack::Imported in;
  import_capsule(capsule, /*producer=*/nullptr, in);
  // Nobody said on which stream the data is ready: the default of the protocol is what is left.
  if (!in.device.is_host()) {
    const GilRelease others_run(true);
    runtime::adopt_from(*in.array.storage.get(), nullptr);
  }
  return make_array(state, std::move(in.array));
}

const DLPackExchangeAPI& required_table(State& state, PyObject* x) {
  const Producer* known = state.find_producer(reinterpret_cast<PyObject*>(Py_TYPE(x)));
  const DLPackExchangeAPI* table = known != nullptr ? known->table : look_up(state, x).table;
  if (table != nullptr) return *table;
  raise(PyExc_TypeError, "the type %R has no usable exchange table",
        reinterpret_cast<PyObject*>(Py_TYPE(x)));
}

/// Private: the way through the exchange table, for arrays of our own too, so that it can be tested
/// and measured.
[[gnu::flatten]] Ref module_from_exchange_api(PyObject* module, PyObject* x) {
  State& state = State::of_module(module);
  const DLPackExchangeAPI& table = required_table(state, x);
  dlpack::Imported in;
  import_by_table(table, x, in);
  return make_array(state, std::move(in.array));
}

}  // namespace

[[gnu::flatten]] Ref array_from_dlpack(State& state, PyObject* producer, PyObject* device,
                                       PyObject* copy, PyObject* max_version) {
  return import_any(state, producer, to_request(state, device, copy, max_version));
}

PyMethodDef kExchangeFunctions[] = {
    {"from_dlpack", method<&module_from_dlpack>(), METH_FASTCALL | METH_KEYWORDS,
     "from_dlpack($module, x, /, *, device=None, copy=None, max_version=None)\n--\n\n"
     "An array over the data of any DLPack producer (array API 2025.12, DLPack 1.3).\n\n"
     "x: an object whose type has __dlpack__ and __dlpack_device__; a C exchange table on the type "
     "is used when no\n"
     "    keyword is given.\n"
     "device: where the result shall be; None is where x is.\n"
     "copy: True gives independent, writable data whatever the producer does; False never copies; "
     "None as needed.\n"
     "max_version: (major, minor) passed on to the producer, lowered to ours; an extension to the "
     "standard.\n\n"
     "The result keeps the producer's memory until its last view is gone, then calls the "
     "producer's deleter once.\n"
     "Read-only data stays read-only. Raises AttributeError when x is no producer, BufferError for "
     "data that cannot\n"
     "be used (naming the field, the value and the limit), NoCopyError for an impossible "
     "copy=False, and whatever\n"
     "the producer raises."},
    {"from_capsule", method<&module_from_capsule>(), METH_FASTCALL | METH_KEYWORDS,
     "from_capsule($module, capsule, /)\n--\n\n"
     "An array over the managed tensor in a bare DLPack capsule, legacy or versioned.\n\n"
     "A capsule has one consumer: it is renamed before anything else is read, and a second call "
     "raises BufferError.\n"
     "Raises TypeError for anything but a capsule and BufferError for a tensor that cannot be "
     "used; the tensor's\n"
     "deleter has then been called."},
    {"_from_exchange_api", method<&module_from_exchange_api>(), METH_O,
     "_from_exchange_api($module, x, /)\n--\n\n"
     "An array through the C exchange table of x's type, without the shortcut for arrays of our "
     "own."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
