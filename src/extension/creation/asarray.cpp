// Implements asarray(): Python numbers and sequences are read, exported memory is shared, and the
// result is converted or copied as dtype=, device= and copy= require.
#include "extension/creation/asarray.hpp"

#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/copy/copying.hpp"
#include "extension/devices/exchange_arguments.hpp"
#include "extension/dlpack/dlpack_import.hpp"
#include "extension/dlpack/producer.hpp"
#include "extension/interop/protocol_order.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using dlpack::Copy;

/// The keyword arguments of asarray(), borrowed; nullptr for absent or None. device and copy stay
/// Python objects because they are passed on to producers.
struct Keywords {
  PyObject* device = nullptr;
  PyObject* copy = nullptr;
  const core::DType* dtype = nullptr;
  Leniency leniency = Leniency::kNone;
};

/// Whether `device` is the CPU and the memory is another kind that the CPU can access: the array
/// only has to be relabelled.
bool is_relabelling(const core::Device& device, const core::Device& own) noexcept {
  return device == core::Device{} && (own.is_host() || own.kind == core::DeviceKind::kCudaManaged);
}

/// The array itself if it satisfies the keywords, relabelled if that is enough, otherwise a copy
/// that does. `is_own`: the array shares memory with no other object, so that copy=True needs no
/// further copy.
Ref copy_if_needed(State& state, Ref array, const Keywords& keywords, bool is_own) {
  const core::ArrayView view = view_of(array.get());
  const core::DType dtype = keywords.dtype == nullptr ? view.dtype : *keywords.dtype;
  const core::Device device = to_device_or(state, keywords.device, view.device());
  const Copy copy = to_copy(keywords.copy);
  const bool same = dtype == view.dtype && device == view.device();
  const bool is_sole = is_own && !state.modes.poison_views;  // imported memory has two owners there
  if (same && (copy != Copy::kAlways || is_sole)) return array;
  if (copy != Copy::kAlways && dtype == view.dtype && is_relabelling(device, view.device())) {
    ProducerInfo producer = find_producer(state, array.get());
    return import_producer(state, array.get(), producer, keywords.device, keywords.copy);
  }
  if (copy == Copy::kNever) {
    core::fail(Fault::kNoCopy, "copy=False, but an array of ", core::name(view.dtype), " on ",
               core::name(view.device()), " cannot become one of ", core::name(dtype), " on ",
               core::name(device), " without a copy");
  }
  return make_array(state, copy_to_new(view, dtype, device));
}

/// An array from an object that exports memory; an empty Ref for other objects.
Ref from_exporter(State& state, PyObject* object, const Keywords& keywords) {
  if (is_array(state, object)) return copy_if_needed(state, Ref::borrow(object), keywords, false);
  const Copy copy = to_copy(keywords.copy);
  // With a dtype, copy=True is left to copy_if_needed(): the producer would make a second copy.
  const bool passes_copy = keywords.dtype == nullptr || copy != Copy::kAlways;
  ProtocolResult imported = try_protocols(
      state, object, keywords.device, passes_copy ? keywords.copy : nullptr, copy == Copy::kNever);
  if (!imported.array) return {};
  return copy_if_needed(state, std::move(imported.array), keywords,
                        imported.request_honored && keywords.dtype == nullptr);
}

Ref to_array(State& state, PyObject* object, const Keywords& keywords) {
  const Copy copy = to_copy(keywords.copy);
  // Builtin numbers and sequences export no memory; a str must not be read as a sequence.
  const bool is_literal = PyBool_Check(object) || PyLong_Check(object) || PyFloat_Check(object) ||
                          PyComplex_Check(object) || PyList_CheckExact(object) ||
                          PyTuple_CheckExact(object) || PyUnicode_Check(object);
  if (!is_literal) {
    if (Ref array = from_exporter(state, object, keywords)) return array;
  }
  // A str and a capsule are refused below, whatever copy= is.
  if (copy == Copy::kNever && !PyUnicode_Check(object) && !PyCapsule_CheckExact(object)) {
    core::fail(Fault::kNoCopy, "copy=False, but an object of type ", type_name(object),
               " exports no memory: an array of its numbers would be a copy");
  }
  const core::Device device = to_device_or(state, keywords.device, core::Device{});
  Ref array =
      make_array(state, array_from_nested(state, object, keywords.dtype, keywords.leniency));
  if (device == core::Device{}) return array;
  return copy_if_needed(state, std::move(array), keywords, true);
}

}  // namespace

Ref as_array(State& state, PyObject* object, const core::DType* dtype) {
  refuse_other_namespace(state, object);
  return to_array(state, object, {.dtype = dtype});
}

Ref asarray(State& state, const Given<kAsarray>& given) {
  const auto [object, dtype, device, copy] = given;
  Keywords keywords{is_given(device) ? device : nullptr, is_given(copy) ? copy : nullptr, nullptr,
                    Leniency::kOfAsarray};
  core::DType dtype_value;
  if (is_given(dtype)) {
    dtype_value = to_dtype(state, dtype);
    keywords.dtype = &dtype_value;
  }
  Ref out = to_array(state, object, keywords);
  // A number alone is an argument, as that of full().
  if (is_arriving(state, object) && view_of(out.get()).ndim > 0)
    note_transfer(view_of(out.get()).nbytes(), /*with_host=*/true);
  return out;
}

}  // namespace refarray::extension
