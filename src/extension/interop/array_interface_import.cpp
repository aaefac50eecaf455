// Owns arrays over what an __array_interface__ describes: reading the dict, and what of it is
// refused.
#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "extension/capi/args.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/interop/array_interface.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/interop/interface_reader.hpp"
#include "extension/interop/protocol_order.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

Ref from_array_interface(PyObject* module, PyObject* object) {
  Ref out = array_from_interface(State::of_module(module), object);
  if (out) return out;
  core::fail(Fault::kType, "from_array_interface needs an object with __array_interface__, not ",
             type_name(object));
}

}  // namespace

Ref array_from_interface(State& state, PyObject* object) {
  const InterfaceReader reader("__array_interface__");
  const Ref interface = reader.look_up(object, state.get(Slot::kInterfaceName));
  if (!interface) return {};
  const Fields fields(interface.get());
  const std::int64_t version = reader.to_integer(fields.get("version"), "version");
  if (version != kInterfaceVersion)
    reader.malformed("version is ", version, "; it must be ", kInterfaceVersion);
  reader.refuse_mask(fields);
  const core::DType dtype = reader.read_typestr(fields);
  core::Layout layout;
  const bool strided = reader.read_layout(fields, dtype, layout);
  Borrowed memory = reader.read_data(object, fields);
  return array_over_borrowed(state, std::move(memory), dtype, layout.extents(),
                             strided ? layout.strides : nullptr);
}

PyMethodDef kInterfaceFunctions[] = {
    {"from_array_interface", method<&from_array_interface>(), METH_O,
     "from_array_interface($module, x, /)\n--\n\n"
     "An array over the memory that x describes by __array_interface__ (version 3), never a "
     "copy.\n\n"
     "x: any object with that attribute, which must be a dict. Its data may be (address, "
     "read-only), an object with the\n"
     "    buffer protocol, or None for x's own buffer; strides are in bytes; descr is not read.\n"
     "The array keeps x, or the buffer, until its last view is gone, and is read-only where that "
     "is. Elements that lie\n"
     "outside a buffer are refused; an address cannot be checked. Raises TypeError when there is "
     "no such dict,\n"
     "BufferError for one that is malformed or says what refarray cannot carry: a mask, a dtype "
     "that is no number in\n"
     "this machine's byte order, strides that are no multiple of the item size."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
