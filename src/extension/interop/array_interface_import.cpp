// Import by __array_interface__: reads and checks the dict, then creates a view.
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
#include "extension/interop/interop_docs.hpp"
#include "extension/objects/foreign_objects.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

Ref from_array_interface(PyObject* module, PyObject* object) {
  Copying never{.allowed = false};
  Ref out = array_from_interface(State::of_module(module), object, never);
  if (out) return out;
  core::fail(Fault::kType, "from_array_interface needs an object with __array_interface__, not ",
             type_name(object));
}

}  // namespace

Ref array_from_interface(State& state, PyObject* object, Copying& copying) {
  refuse_masked(state, object);
  const InterfaceReader reader("__array_interface__");
  const Ref interface = reader.find(object, state.get(Slot::kInterfaceName));
  if (!interface) return {};
  const Fields fields(interface.get());
  const std::int64_t version = reader.to_integer(fields.get("version"), "version");
  // NumPy's specification asks readers not to refuse future versions; of 2 the fields are the same.
  constexpr std::int64_t kOldest = 2;
  if (version < kOldest)
    reader.fail_malformed("version is ", version, "; the minimum is ", kOldest);
  reader.reject_mask(fields);
  const BorrowedElements elements = reader.read_elements(fields, copying);
  return array_over_borrowed(state, reader.read_data(state, object, fields), elements, copying);
}

PyMethodDef kInterfaceFunctions[] = {
    {"from_array_interface", method<&from_array_interface>(), METH_O, kFromArrayInterfaceDoc},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
