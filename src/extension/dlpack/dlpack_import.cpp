// DLPack import: from_dlpack and from_capsule, from the call's arguments to the array. The numbers
// are the steps of docs/lifetime.md: [6] take the tensor, [7] validate. An import takes one of
// three routes: an array of our own, the type's exchange table, or __dlpack__.
#include "extension/dlpack/dlpack_import.hpp"

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "dlpack/import.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/devices/exchange_arguments.hpp"
#include "extension/dlpack/c_tables.hpp"
#include "extension/dlpack/capsule.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/foreign_objects.hpp"
#include "extension/objects/function_row.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

constexpr FunctionRow kFromDlpack{
    "from_dlpack",
    "x, /, *, device=None, copy=None, max_version=None",
    Category::kCreation,
    2021,
    R"doc(Import the data of any DLPack producer as an array (array API 2025.12, DLPack 1.3).

x: An object whose type has __dlpack__ and __dlpack_device__: both are called, the device
    first. Exactly numpy.ndarray is not asked for its device. A type with only a C exchange
    table is imported by it, without keyword arguments.
device: The device of the result. None is the device of x.
copy: True returns independent, writable data whatever the producer does; False never
    copies; None copies if needed.
max_version: The (major, minor) to pass to the producer, lowered to the version that
    refarray implements. An extension of the standard.

The result keeps the producer's memory alive and calls the producer's deleter exactly once,
after its last view has been deleted. Read-only data stays read-only.

With REFARRAY_AUDIT=1 in the environment, the audit event refarray.from_dlpack(type, route)
says which of the three it is.

Raises AttributeError when x is not a producer; BufferError for data that cannot be used,
naming the field, the value and the limit, and for a masked array of NumPy; NoCopyError
when copy=False is impossible; and whatever the producer raises.)doc",
};

constexpr char kFromCapsuleDoc[] = R"doc(from_capsule($module, capsule, /)
--

Import the managed tensor in a bare DLPack capsule, legacy or versioned, as an array.

A capsule has one consumer: it is renamed before anything in it is read, and importing it
again raises BufferError.

Raises TypeError for anything but a capsule, and BufferError for a tensor that cannot be
used, after calling its deleter.)doc";

constexpr char kFromExchangeApiDoc[] = R"doc(_from_exchange_api($module, x, /)
--

Import x through the C exchange table of its type, even if x is an Array.

Raises TypeError when the type has no usable table, and whatever from_dlpack raises.)doc";

constexpr Signature<1> kFromCapsule{"from_capsule", {Key::kCapsule}, 1, 1};

using Versioned = DLManagedTensorVersioned;

// The functions below stand in the order in which an import calls them.
Ref import_with(State& state, PyObject* x, const ImportRequest& request);
Ref import_own(const State& state, PyObject* x, dlpack::Copy copy);
Ref import_foreign(const State& state, PyObject* x, const ProducerInfo& producer,
                   const ImportRequest& request);
Ref import_by_table(const State& state, PyObject* x, const DLPackExchangeAPI& table);
Ref import_from_table(const State& state, PyObject* x, const DLPackExchangeAPI& table,
                      dlpack::Managed<Versioned> tensor);
Ref import_by_method(const State& state, PyObject* x, const ProducerInfo& producer,
                     const ImportRequest& request);
Ref ask_method(const State& state, PyObject* x, const ProducerInfo& producer,
               const ImportRequest& request, const AnnouncedDevice& announced);
void import_capsule(PyObject* capsule, PyObject* producer, dlpack::Imported& out,
                    dlpack::HostLabel label);
Ref finish(const State& state, dlpack::Imported&& in, const ImportRequest& request);

/// from_dlpack(x) for a foreign producer: `request` is constant here, which removes half the code.
[[gnu::flatten, gnu::noinline]] Ref import_plain(State& state, PyObject* x) {
  const ProducerInfo producer = find_producer(state, x);
  return import_foreign(state, x, producer, {});
}

}  // namespace

Ref module_from_dlpack(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                       PyObject* kwnames) {
  State& state = State::of_module(module);
  if (nargs == 1 && kwnames == nullptr) {
    return is_array(state, args[0]) ? alias_array(state, args[0]) : import_plain(state, args[0]);
  }
  const auto [x, device, copy, max_version] = bind<kFromDlpack>(state, args, nargs, kwnames);
  return import_with(state, x, to_import_request(state, device, copy, max_version));
}

namespace {

[[gnu::flatten, gnu::noinline]] Ref import_with(State& state, PyObject* x,
                                                const ImportRequest& request) {
  if (is_array(state, x) && request.max_version == nullptr &&
      (!request.device || *request.device == view_of(x).device())) {
    return import_own(state, x, request.copy);
  }
  if (request.is_plain()) return import_plain(state, x);
  const ProducerInfo producer = find_producer(state, x);
  return import_foreign(state, x, producer, request);
}

// --- Route 1: an array of our own shares its storage. There is no managed tensor.

Ref import_own(const State& state, PyObject* x, dlpack::Copy copy) {
  if (copy != dlpack::Copy::kAlways) return alias_array(state, x);
  const core::ArrayView view = view_of(x);
  return make_array(state, copy_to_new(view, view.dtype, default_copy_device(view.device())));
}

/// Constant after read_audit_setting().
bool audits_imports = false;

/// Not on each import: an event is a call into Python.
[[gnu::cold, gnu::noinline]] void audit_import(PyObject* x, const ProducerInfo& producer) {
  const char* const route = producer.is_ndarray      ? "numpy.ndarray, not asked for its device"
                            : producer.has_methods() ? "methods"
                                                     : "table";
  check(calling<PyObject_CallFunction>(python_function("sys", "audit").get(), "sOs",
                                       "refarray.from_dlpack", Py_TYPE(x), route));
}

Ref import_foreign(const State& state, PyObject* x, const ProducerInfo& producer,
                   const ImportRequest& request) {
  if (audits_imports) [[unlikely]]
    audit_import(x, producer);
  if (request.is_plain() && producer.table != nullptr)
    return import_by_table(state, x, *producer.table);
  return import_by_method(state, x, producer, request);
}

// --- Route 2: the exchange table of the type. A table may export what __dlpack__ refuses, so it is
// used only for types that lack the methods.

[[gnu::flatten, gnu::noinline]] Ref import_by_table(const State& state, PyObject* x,
                                                    const DLPackExchangeAPI& table) {
  return import_from_table(state, x, table, call_table(table, x));
}

/// The producer works on a stream of its own, which its table names (CAPI-25).
[[gnu::noinline]] void order_after_table(const DLPackExchangeAPI& table, PyObject* x,
                                         dlpack::Imported& in) {
  const DLDevice device = dlpack::to_dlpack(in.device);
  void* stream = nullptr;
  const int status = calling(
      [&] { return table.current_work_stream(device.device_type, device.device_id, &stream); });
  if (status != 0) {
    if (PyErr_Occurred() != nullptr) throw_exporter_error();
    raise(PyExc_BufferError, "current_work_stream of the exchange table of %R failed",
          reinterpret_cast<PyObject*>(Py_TYPE(x)));
  }
  const GilRelease others_run(true);
  runtime::adopt_from(*in.array.storage.get(), stream);
}

Ref import_from_table(const State& state, PyObject* x, const DLPackExchangeAPI& table,
                      dlpack::Managed<Versioned> tensor) {
  prepare_import(*tensor);
  dlpack::Imported in;
  dlpack::to_array(std::move(tensor), in);  // [7] validate
  if (!in.device.is_host()) [[unlikely]]
    order_after_table(table, x, in);
  return make_array(state, std::move(in.array));
}

// --- Route 3: __dlpack_device__ and __dlpack__.

Ref import_by_method(const State& state, PyObject* x, const ProducerInfo& producer,
                     const ImportRequest& request) {
  if (!producer.has_methods()) raise_missing_methods(x, producer);
  AnnouncedDevice announced;
  if (is_array(state, x)) {
    announced.device = view_of(x).device();
    announced.named = dlpack::to_dlpack(*announced.device);
  } else {
    announced = ask_device(state, x, producer);
  }
  refuse_devices(request, announced);
  const Ref capsule = ask_method(state, x, producer, request, announced);
  const bool as_cpu = request.device && *request.device == core::Device{};
  dlpack::Imported in;
  import_capsule(capsule.get(), x, in,
                 as_cpu ? dlpack::HostLabel::kCpu : dlpack::HostLabel::kAsLabelled);
  if (!in.device.is_host()) [[unlikely]] {
    const GilRelease others_run(true);
    runtime::adopt(*in.array.storage.get());
  }
  return finish(state, std::move(in), request);
}

/// stream= for a producer in device memory: our current stream there. Empty if it is to copy to
/// host memory, which has no streams (CONS-08, STRM-01).
Ref stream_for(const ImportRequest& request, const std::optional<core::Device>& device) {
  if (!device || request.asks_for_host()) return {};
  const auto stream = [&] {
    const GilRelease others_run(true);
    return static_cast<unsigned long long>(runtime::stream_to_pass(*device));
  }();
  return check(PyLong_FromUnsignedLongLong(stream));
}

Ref ask_method(const State& state, PyObject* x, const ProducerInfo& producer,
               const ImportRequest& request, const AnnouncedDevice& announced) {
  Ref stream;
  if (!announced.is_host()) [[unlikely]]
    stream = stream_for(request, announced.device);
  Ref device;
  DlpackArguments arguments{request.max_version};
  if (request.max_version == nullptr) arguments.max_version = state.get(Slot::kOurVersion);
  arguments.stream = stream.get();
  if (request.asks_for_host()) {
    const DLDevice wanted = dlpack::to_dlpack(*request.device);
    device = check(
        calling<Py_BuildValue>("(ii)", static_cast<int>(wanted.device_type), wanted.device_id));
    arguments.dl_device = device.get();
    // All host memory can be relabelled as the CPU's without the producer (A-25).
    arguments.needs_dl_device = wanted.device_type != announced.named.device_type &&
                                (wanted.device_type != kDLCPU || !announced.is_host());
  }
  if (request.copy != dlpack::Copy::kIfNeeded) {
    if (request.copy == dlpack::Copy::kAlways) core::note_attempt(core::Entry::kCopy, -1);
    arguments.copy = request.copy == dlpack::Copy::kAlways ? Py_True : Py_False;
  }
  return call_dlpack(state, x, producer, arguments);
}

/// Takes the tensor out of a capsule and validates it. `producer` is named in errors; nullptr for a
/// bare capsule.
void import_capsule(PyObject* capsule, PyObject* producer, dlpack::Imported& out,
                    dlpack::HostLabel label) {
  if (PyCapsule_CheckExact(capsule)) {
    if (auto tensor = take<Versioned>(capsule)) {
      prepare_import(*tensor);
      return dlpack::to_array(std::move(tensor), out, label);  // [7] validate
    }
    if (auto tensor = take<DLManagedTensor>(capsule)) {
      prepare_import(*tensor);
      return dlpack::to_array(std::move(tensor), out, label);  // [7] validate
    }
  }
  refuse_capsule(capsule, producer);
}

/// Makes the array, after enforcing copy= and device= on whatever the producer delivered.
Ref finish(const State& state, dlpack::Imported&& in, const ImportRequest& request) {
  const core::Device delivered = in.device;
  if (request.copy == dlpack::Copy::kNever && in.copied) {  // COPY-08
    core::fail(core::Fault::kNoCopy,
               "from_dlpack(): copy=False, but the producer made a copy (IS_COPIED is set)");
  }
  const bool moves = request.device && *request.device != delivered;
  // COPY-10: the producer was asked for host memory and has to deliver it; between host memory and
  // devices we copy ourselves.
  if (moves && (request.copy == dlpack::Copy::kNever ||
                (request.device->is_host() && delivered.is_host()))) {
    const bool no_copy = request.copy == dlpack::Copy::kNever;
    core::fail(no_copy ? core::Fault::kNoCopy : core::Fault::kBuffer, "from_dlpack(): device ",
               core::name(*request.device), no_copy ? " and copy=False were" : " was",
               " asked for, but the producer delivered ", core::name(delivered));
  }
  const bool needs_copy = moves || (request.copy == dlpack::Copy::kAlways &&
                                    (!in.copied || in.array.readonly || state.modes.poison_views));
  const core::Storage& storage = *in.array.storage.get();
  if (request.copy == dlpack::Copy::kAlways && !needs_copy && storage.foreign() &&
      storage.host_block() ==
          0)  // the producer's, at our request; exports of ours count themselves
    core::note(core::Entry::kCopy, in.array.view().nbytes());
  if (!needs_copy) return make_array(state, std::move(in.array));
  const core::Device target = moves ? *request.device : default_copy_device(delivered);
  core::Array copy = copy_to_new(in.array, in.array.dtype, target);  // COPY-05, COPY-07
  drop_storage(std::move(in.array.storage));
  return make_array(state, std::move(copy));
}

// --- Entry points besides from_dlpack().

Ref module_from_capsule(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [capsule] = bind(kFromCapsule, state, args, nargs, kwnames);
  dlpack::Imported in;
  import_capsule(capsule, /*producer=*/nullptr, in, dlpack::HostLabel::kAsLabelled);
  // Nobody said on which stream the data is ready: assume the protocol's default.
  if (!in.device.is_host()) {
    const GilRelease others_run(true);
    runtime::adopt_from(*in.array.storage.get(), nullptr);
  }
  return make_array(state, std::move(in.array));
}

/// Private: imports through the exchange table even from our own arrays, for tests and benchmarks.
[[gnu::flatten]] Ref module_from_exchange_api(PyObject* module, PyObject* x) {
  const State& state = State::of_module(module);
  const DLPackExchangeAPI* table =
      is_array(state, x) ? &own_table() : find_table(state, Py_TYPE(x));
  if (table == nullptr) {
    raise(PyExc_TypeError, "the type %R has no usable exchange table",
          reinterpret_cast<PyObject*>(Py_TYPE(x)));
  }
  return import_from_table(state, x, *table, call_table(*table, x));
}

}  // namespace

Ref import_producer(const State& state, PyObject* x, const ProducerInfo& producer, PyObject* device,
                    PyObject* copy) {
  return import_foreign(state, x, producer, to_import_request(state, device, copy, nullptr));
}

void read_audit_setting() noexcept {
  const char* const setting = std::getenv("REFARRAY_AUDIT");
  audits_imports = setting != nullptr && std::string_view(setting) == "1";
}

PyMethodDef kImportFunctions[] = {
    entry<kFromDlpack, &module_from_dlpack>(),
    {"from_capsule", method<&module_from_capsule>(), METH_FASTCALL | METH_KEYWORDS,
     kFromCapsuleDoc},
    {"_from_exchange_api", method<&module_from_exchange_api>(), METH_O, kFromExchangeApiDoc},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
