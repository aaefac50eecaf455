// Owns pickling and the copy module: an array as the arguments of a rebuilding function and one
// flat buffer.
#include <cstdint>
#include <optional>

#include "core/error.hpp"
#include "extension/array/conversions.hpp"
#include "extension/array/element.hpp"
#include "extension/array/manipulation.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/interop/buffer.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

/// The first protocol with buffers out of band (PEP 574).
constexpr std::int64_t kOutOfBand = 5;

/// By an interned name: each new string would take a place in the interpreter's cache of
/// attributes.
Ref attribute(PyObject* object, const char* name) {
  return check(calling<PyObject_GetAttr>(object, check(PyUnicode_InternFromString(name)).get()));
}

/// The elements as row-major bytes: the array's own memory where it is that already, else a copy.
core::Array flat_bytes(const core::ArrayView& array) {
  const bool flat = array.bit == 0 && core::is_c_contiguous(array.extents(), array.stride_span());
  core::Array out =
      flat ? core::with_layout(array, core::Layout(array.extents(), array.stride_span()), 0)
           : copy_to_new(array, array.dtype);
  const std::int64_t shape[] = {array.nbytes()};
  out.dtype = {core::Kind::kUInt, 8};
  out.layout = core::c_layout(shape);
  out.readonly = !array.writable();
  return out;
}

/// What holds the bytes in a pickle: the pickler decides about a PickleBuffer; below protocol 5 a
/// bytearray stands for writable memory and bytes for read-only memory, so that what comes back can
/// be used where it lies.
Ref bytes_object(const State& state, core::Array bytes, std::int64_t protocol) {
  const auto size = static_cast<Py_ssize_t>(core::size_of(bytes.layout.extents()));
  const auto* data = reinterpret_cast<const char*>(bytes.data);
  if (protocol < kOutOfBand) {
    return check(bytes.readonly ? PyBytes_FromStringAndSize(data, size)
                                : PyByteArray_FromStringAndSize(data, size));
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
  require_host(array, "pickling");
  core::Array bytes = flat_bytes(array);
  const bool readonly = bytes.readonly;
  const Ref module = Ref::borrow(PyType_GetModule(Py_TYPE(self)));
  const Ref rebuild = attribute(module.get(), "_rebuild");
  const Ref buffer = bytes_object(state, std::move(bytes), protocol);
  const Ref shape = make_int_tuple(array.extents());
  // Host memory of any kind comes back as the CPU's own: what the bytes will lie in is the
  // unpickler's choice.
  return check(Py_BuildValue("O(OsOsO)", rebuild.get(), buffer.get(),
                             core::name(array.dtype).c_str(), shape.get(),
                             core::name(core::Device{}).c_str(), readonly ? Py_True : Py_False));
}

Ref rebuild(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  constexpr Py_ssize_t kArguments = 5;
  if (nargs != kArguments)
    raise(PyExc_TypeError, "_rebuild() takes %zd arguments (%zd given)", kArguments, nargs);
  State& state = State::of_module(module);
  PyObject* const buffer = args[0];
  const core::DType dtype = to_dtype(state, args[1]);
  const Integers shape = to_shape(args[2]);
  const core::Device device = to_device_value(state, args[3]);
  if (device != core::Device{}) {
    core::fail(Fault::kValue, "device is ", core::name(device),
               "; arrays are pickled from and to the CPU only");
  }
  if (!PyBool_Check(args[4])) {
    core::fail(Fault::kType, "readonly must be True or False, not ", short_repr(args[4]));
  }
  return array_over_bytes(state, buffer, dtype, shape.span(), args[4] == Py_True);
}

}  // namespace

PyMethodDef kPickleMethods[] = {
    {"__reduce_ex__", method<reduce_ex>(), METH_O,
     "__reduce_ex__($self, protocol, /)\n--\n\n"
     "What pickle stores: dtype, shape, whether the array is read-only, and its bytes in row-major "
     "order.\n\n"
     "From protocol 5 on the bytes are a PickleBuffer, without a copy when the array is "
     "C-contiguous, and can travel\n"
     "out of band (PEP 574). Strides are not kept. The array that comes back lies on the CPU, in "
     "the memory that the\n"
     "unpickler has, and is read-only if this one is or that memory is. Raises BufferError when "
     "the CPU cannot read\n"
     "this array's memory."},
    {"__copy__", method<copy_method>(), METH_NOARGS,
     "__copy__($self)\n--\n\n"
     "An independent, writable, row-major array with equal elements, on the CPU; for copy.copy.\n\n"
     "Raises BufferError when the CPU cannot read the array's memory, MemoryError when there is "
     "none for the copy."},
    {"__deepcopy__", method<copy_method>(), METH_O,
     "__deepcopy__($self, memo, /)\n--\n\n"
     "The same as __copy__, for copy.deepcopy: elements refer to no other objects."},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef kPickleFunctions[] = {
    {"_rebuild", method<rebuild>(), METH_FASTCALL,
     "_rebuild($module, buffer, dtype, shape, device, readonly, /)\n--\n\n"
     "The array that __reduce_ex__ described, over the buffer's memory.\n\n"
     "Raises TypeError or ValueError for arguments that __reduce_ex__ does not make, such as a "
     "shape that does not\n"
     "take exactly as many bytes as the buffer has."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
