// Owns asarray: which of an object's faces is looked at first, and whether the result may or must
// be a copy.
#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/element.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/creation/creation.hpp"
#include "extension/dlpack/keywords.hpp"
#include "extension/interop/protocol_order.hpp"

namespace refarray::extension {
namespace {

using core::Fault;
using dlpack::Copy;

/// What asarray was asked for; empty: as the object has it.
struct Wish {
  PyObject* device = nullptr;  // as it was given, for producers
  PyObject* copy = nullptr;    // likewise
  const core::DType* dtype = nullptr;
};

/// A converted, copied or moved array, or the given one when there is nothing to do. `may_keep`:
/// copy=True does not ask for a copy any more, because the array is nobody else's.
Ref settle(const State& state, Ref array, const Wish& wish, bool may_keep) {
  const core::ArrayView view = view_of(array.get());
  const core::DType dtype = wish.dtype == nullptr ? view.dtype : *wish.dtype;
  const core::Device device = to_device_or(state, wish.device, view.device());
  const Copy copy = to_copy(wish.copy);
  const bool same = dtype == view.dtype && device == view.device();
  if (same && (copy != Copy::kAlways || may_keep)) return array;
  if (copy == Copy::kNever) {
    core::fail(Fault::kNoCopy, "copy=False, but an array of ", core::name(view.dtype), " on ",
               core::name(view.device()), " becomes one of ", core::name(dtype), " on ",
               core::name(device), " by copying only");
  }
  return make_array(state, copy_to_new(view, dtype, device));
}

/// Everything that exports its memory; an empty Ref for the rest.
Ref from_exporter(State& state, PyObject* object, const Wish& wish) {
  if (is_array(state, object)) return settle(state, Ref::borrow(object), wish, false);
  const Copy copy = to_copy(wish.copy);
  // A conversion copies anyway: the producer need not do so before. Whether it did not, from_dlpack
  // makes sure.
  const bool copies_once = wish.dtype == nullptr || copy != Copy::kAlways;
  ProtocolResult imported = try_protocols(state, object, wish.device,
                                          copies_once ? wish.copy : nullptr, copy == Copy::kNever);
  if (!imported.array) return {};
  return settle(state, std::move(imported.array), wish,
                imported.request_honored && wish.dtype == nullptr);
}

Ref to_array(State& state, PyObject* object, const Wish& wish) {
  const Copy copy = to_copy(wish.copy);
  const bool is_literal = PyBool_Check(object) || PyLong_Check(object) || PyFloat_Check(object) ||
                          PyComplex_Check(object) || PyList_CheckExact(object) ||
                          PyTuple_CheckExact(object) || PyUnicode_Check(object);
  if (!is_literal) {
    if (Ref array = from_exporter(state, object, wish)) return array;
  }
  if (copy == Copy::kNever && !PyUnicode_Check(object)) {
    core::fail(Fault::kNoCopy, "copy=False, but an object of type ", type_name(object),
               " exports no memory: an array of its numbers is a copy");
  }
  const core::Device device = to_device_or(state, wish.device, core::Device{});
  Ref array = make_array(state, array_of_nested(state, object, wish.dtype));
  if (device == core::Device{}) return array;
  return settle(state, std::move(array), wish, true);
}

}  // namespace

Ref as_array(State& state, PyObject* object, const core::DType* dtype) {
  return to_array(state, object, {nullptr, nullptr, dtype});
}

Ref asarray(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static constexpr Signature<4> kSignature{
      "asarray", {Key::kObj, Key::kDtype, Key::kDevice, Key::kCopy}, 1, 1};
  State& state = State::of_module(module);
  const auto [object, dtype, device, copy] = bind(kSignature, state, args, nargs, kwnames);
  Wish wish{is_given(device) ? device : nullptr, is_given(copy) ? copy : nullptr, nullptr};
  core::DType given;
  if (is_given(dtype)) {
    given = to_dtype(state, dtype);
    wish.dtype = &given;
  }
  return to_array(state, object, wish);
}

const char* const kAsarrayDoc =
    "asarray($module, obj, /, *, dtype=None, device=None, copy=None)\n--\n\n"
    "An array of obj, without copying where that can be (array API 2025.12, asarray).\n\n"
    "obj is looked at in this order: a Python number; an Array; a DLPack producer; the buffer "
    "protocol (bytes give\n"
    "uint8); __array_interface__; __array__; a sequence of numbers, sequences and arrays, at most "
    "64 levels deep;\n"
    "__index__, __float__, __complex__. An offer of memory that is refused lets the next one be "
    "asked; when all are, the\n"
    "first refusal is raised.\n"
    "dtype: None keeps what obj exports; of numbers it is the first of bool, int64, float64, "
    "complex128 that holds\n"
    "    them all (float64 for none at all). A sequence of arrays of one dtype alone keeps that "
    "dtype.\n"
    "device: None is where obj is, else where the result shall be; numbers go to the CPU.\n"
    "copy: True always copies, False never does, None copies when dtype or device require it.\n\n"
    "A result that was not copied shares obj's memory, keeps it alive, and is read-only where obj "
    "is. Numbers are\n"
    "converted strictly: TypeError for a kind above the dtype's (1.5 into int8), OverflowError for "
    "an int out of\n"
    "range; arrays are converted as by astype. Raises ValueError for ragged sequences, naming the "
    "item, TypeError for\n"
    "str and other objects, BufferError for exported data that cannot be used, NoCopyError when "
    "copy=False cannot be\n"
    "honoured.";

}  // namespace refarray::extension
