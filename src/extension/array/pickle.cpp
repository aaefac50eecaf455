// Pickling and the copy module: __reduce_ex__, _rebuild, __copy__, __deepcopy__.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/error.hpp"
#include "core/ledger.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copy_functions.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/ways_out.hpp"
#include "extension/interop/buffer.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/namespace.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr char kReduceExDoc[] = R"doc(__reduce_ex__($self, protocol, /)
--

Return what pickle stores: the elements in row-major order, dtype, shape, whether the
array is read-only, and the byte order: a machine of the other one reverses the bytes.

With protocol 5 the elements are a PickleBuffer, which can travel out of band
(PEP 574); it shares the memory of a C-contiguous array on the CPU. Arrays of virtual
devices are copied into the pickle with every protocol. Strides are not stored.
The unpickled array is on the device of this one, of pinned memory on the CPU. There it
is in the memory that the unpickler provides. It is read-only if this array or that
memory is. Ledgers count a transfer for the elements of a device.)doc";

constexpr char kShallowCopyDoc[] = R"doc(__copy__($self)
--

Return an independent copy, as copy() does; for copy.copy().)doc";

constexpr char kDeepCopyDoc[] = R"doc(__deepcopy__($self, memo, /)
--

Return an independent copy, as copy() does; for copy.deepcopy().

memo is unused: elements refer to no Python objects.)doc";

constexpr char kRebuildDoc[] =
    R"doc(_rebuild($module, buffer, dtype, shape, device, readonly, byteorder, /)
--

Return an array over the memory of a buffer, or a copy of it where byteorder, "little" or
"big", is not the machine's; unpickling calls it.

Raises TypeError or ValueError for arguments that __reduce_ex__ does not produce,
such as a shape whose size in bytes is not that of the buffer, and BufferError for a
device that the process cannot use.)doc";

/// The first pickle protocol with out-of-band buffers (PEP 574).
constexpr std::int64_t kOutOfBandProtocol = 5;

/// As sys.byteorder.
constexpr bool kIsLittle = std::endian::native == std::endian::little;
constexpr const char* kByteOrder = kIsLittle ? "little" : "big";

/// Interns the name because each new string object would take an entry of CPython's type attribute
/// cache.
Ref attribute(PyObject* object, const char* name) {
  return check(calling<PyObject_GetAttr>(object, check(PyUnicode_InternFromString(name)).get()));
}

/// The elements as row-major bytes: the array's own memory if it is contiguous, otherwise a copy.
/// `is_transfer`: ledgers have counted it.
core::Array flat_bytes(const core::ArrayView& array, bool is_transfer) {
  const bool flat = array.bit == 0 && core::is_c_contiguous(array.extents(), array.stride_span());
  const auto copy = is_transfer ? &working_copy : &copy_to_new;
  core::Array out =
      flat ? core::with_layout(array, core::Layout(array.extents(), array.stride_span()), 0)
           : copy(array, array.dtype, core::Device{});
  const std::int64_t shape[] = {array.nbytes()};
  out.dtype = {core::Kind::kUInt, 8};
  out.layout = core::c_layout(shape);
  return out;
}

/// Grown from an empty one: where PyByteArray_FromStringAndSize() has no memory, it destroys a
/// bytearray whose count of exports is not set, and CPython prints a SystemError.
Ref bytearray(const char* data, Py_ssize_t size) {
  Ref out = check(PyByteArray_FromStringAndSize(nullptr, 0));
  check(PyByteArray_Resize(out.get(), size));
  std::copy_n(data, size, PyByteArray_AsString(out.get()));
  return out;
}

/// The object that carries the bytes in a pickle: a PickleBuffer from protocol 5 on. Below that,
/// and for virtual devices, whose arrays export no buffer, a bytearray for writable and bytes for
/// read-only memory, so that unpickling needs no copy.
Ref bytes_object(const State& state, core::Array bytes, std::int64_t protocol, bool is_transfer) {
  const auto size = python_length(core::size_of(bytes.layout.extents()));
  const auto* data = reinterpret_cast<const char*>(bytes.data);
  if (protocol < kOutOfBandProtocol || state.modes.off_host) {
    if (!is_transfer) core::note(core::Entry::kCopy, size);
    return bytes.readonly ? check(PyBytes_FromStringAndSize(data, size)) : bytearray(data, size);
  }
  const Ref array = make_array(state, std::move(bytes));
  const Ref pickle = check(calling<PyImport_ImportModule>("pickle"));
  const Ref type = attribute(pickle.get(), "PickleBuffer");
  return check(calling<PyObject_CallFunctionObjArgs>(type.get(), array.get(), nullptr));
}

Ref reduce_ex(PyObject* self, PyObject* protocol_object) {
  const State& state = State::of_object(self);
  const std::int64_t protocol = to_int64(protocol_object, "protocol");
  const core::ArrayView array = view_of(self);
  core::Array owner;
  const core::ArrayView readable = read_elements(self, "pickling", owner);
  const bool is_transfer = is_off_host(self) || owner.storage;  // which ledgers have counted
  core::Array bytes = flat_bytes(readable, is_transfer);
  bytes.readonly = !array.writable();
  const Ref module = Ref::borrow(PyType_GetModule(Py_TYPE(self)));
  const Ref rebuild = attribute(module.get(), "_rebuild");
  const Ref buffer = bytes_object(state, std::move(bytes), protocol, is_transfer);
  const Ref shape = make_int_tuple(array.extents());
  // Pinned memory, which is scarce, is restored as memory of the CPU: the unpickler allocates it.
  const core::Device device = default_copy_device(array.device());
  return check(calling<Py_BuildValue>(
      "O(OsOsOs)", rebuild.get(), buffer.get(), core::name(array.dtype).c_str(), shape.get(),
      core::name(device).c_str(), array.writable() ? Py_False : Py_True, kByteOrder));
}

/// Whether numbers in the order of this name have their bytes reversed here.
bool is_other_order(PyObject* name) {
  if (PyUnicode_Check(name) == 0)
    core::fail(Fault::kType, "byteorder must be a str, not ", type_name(name));
  for (const char* known : {"little", "big"})
    if (PyUnicode_CompareWithASCIIString(name, known) == 0)
      return std::string_view(known) != kByteOrder;
  core::fail(Fault::kValue, "byteorder must be 'little' or 'big', not ", short_repr(name));
}

/// Copies a row-major array of at least one element with the bytes of each number in reverse order.
core::Array reverse_bytes(const core::ArrayView& array) {
  const std::int64_t width = array.dtype.bits / (array.dtype.is_complex() ? 16 : 8);
  const std::int64_t shape[] = {array.nbytes() / width, width}, strides[] = {width, -1};
  core::ArrayView bytes = array;
  bytes.data += width - 1;
  bytes.dtype = {core::Kind::kUInt, 8};
  bytes.ndim = 2;
  bytes.shape = shape;
  bytes.strides = strides;
  core::Array out = copy_to_new(bytes, bytes.dtype, core::Device{});
  out.dtype = array.dtype;
  out.layout = core::c_layout(array.extents());
  return out;
}

Ref rebuild(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  constexpr Py_ssize_t kArguments = 6;
  if (nargs != kArguments)
    raise(PyExc_TypeError, "_rebuild() takes %zd arguments (%zd given)", kArguments, nargs);
  State& state = State::of_module(module);
  const State& names = default_state(state);  // a strict one takes no names of dtypes
  PyObject* const buffer = args[0];
  const core::DType dtype = to_dtype(names, args[1]);
  const Integers shape = to_shape(args[2]);
  const core::Device device = to_device_value(names, args[3]);
  if (!PyBool_Check(args[4])) {
    core::fail(Fault::kType, "readonly must be True or False, not ", short_repr(args[4]));
  }
  const bool readonly = args[4] == Py_True;
  const bool is_reversed = is_other_order(args[5]) && dtype.bits > 8;  // fewer have no order
  if (state.modes.off_host)
    note_transfer(core::nbytes_of(core::checked_size(shape.span()), dtype), /*with_host=*/true);
  Ref out = array_over_bytes(state, buffer, dtype, shape.span(), readonly);
  if (is_reversed && view_of(out.get()).size() > 0) {
    core::Array copy = reverse_bytes(view_of(out.get()));
    copy.readonly = readonly;
    out = make_array(state, std::move(copy));
  }
  if (device != core::Device{}) {
    core::Array moved = copy_to_new(view_of(out.get()), dtype, device);
    moved.readonly = readonly;
    return make_array(state, std::move(moved));
  }
  // Else the bytes would be an exporter, which owns the memory too.
  if (state.modes.poison_views) return make_array(state, working_copy(view_of(out.get()), dtype));
  return out;
}

}  // namespace

PyMethodDef kPickleMethods[] = {
    {"__reduce_ex__", method<reduce_ex>(), METH_O, kReduceExDoc},
    {"__copy__", method<copy_method>(), METH_NOARGS, kShallowCopyDoc},
    {"__deepcopy__", method<copy_method>(), METH_O, kDeepCopyDoc},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef kPickleFunctions[] = {
    {"_rebuild", method<rebuild>(), METH_FASTCALL, kRebuildDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
