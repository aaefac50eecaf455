// Import by __array_struct__: the array interface as a C struct in a capsule.
#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/object_text.hpp"
#include "extension/interop/array_interface.hpp"
#include "extension/interop/borrowed_storage.hpp"
#include "extension/interop/interface_reader.hpp"
#include "extension/objects/foreign_objects.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr const char* kName = "__array_struct__";

/// NumPy's PyArrayInterface, as its documentation of the array interface lays it out.
struct ArrayStruct {
  int two;  // 2: a check that the capsule holds such a struct
  int nd;
  char typekind;
  int itemsize;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;  // in bytes
  void* data;
  PyObject* descr;  // not read
};
constexpr int kNotSwapped = 0x200;
constexpr int kWritable = 0x400;

/// The capsule in the attribute; an empty Ref if there is none, or the attribute is None.
Ref find_capsule(const State& state, PyObject* object) {
  Ref found = find_interface(object, state.get(Slot::kArrayStructName));
  if (!found) return {};
  if (!PyCapsule_CheckExact(found.get())) {
    core::fail(Fault::kType, kName, " of ", type_name(object), " must be a capsule, not ",
               type_name(found.get()));
  }
  return found;
}

/// A copy of the struct, with the fields that other fields depend on checked.
ArrayStruct read_struct(PyObject* capsule) {
  const auto* pointer = static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule, nullptr));
  if (pointer == nullptr) {
    compat::clear_raised();  // replaced by a message that says what is required
    core::fail(Fault::kBuffer, kName, ": the capsule has a name; the interface requires none");
  }
  const ArrayStruct out = *pointer;
  if (out.two != 2) core::fail(Fault::kBuffer, kName, ": two is ", out.two, "; it must be 2");
  if (out.nd < 0 || out.nd > core::kMaxRank) {
    core::fail(Fault::kBuffer, kName, ": nd is ", out.nd, "; it must be 0 to ", core::kMaxRank);
  }
  if (out.nd > 0 && out.shape == nullptr)
    core::fail(Fault::kBuffer, kName, ": shape is NULL, nd ", out.nd);
  return out;
}

BorrowedElements elements_of(const ArrayStruct& fields, Copying& copying) {
  BorrowedElements out{.source = kName};
  const std::string typestr = std::string(1, fields.typekind) + std::to_string(fields.itemsize);
  const auto dtype = dtype_of_typestr(typestr);
  out.swapped = (fields.flags & kNotSwapped) == 0 && fields.itemsize > 1;
  if (!dtype || (out.swapped && !copying.permits())) {
    refuse_protocol(kName, ": typekind ", int{static_cast<unsigned char>(fields.typekind)},
                    ", itemsize ", fields.itemsize, ", flags ", fields.flags,
                    " are not a numeric type that refarray supports in native byte order");
  }
  out.dtype = *dtype;
  out.strided = fields.strides != nullptr;
  for (int axis = 0; axis < fields.nd; ++axis)
    out.layout.push(fields.shape[axis], out.strided ? fields.strides[axis] : 0);
  return out;
}

}  // namespace

Ref array_from_struct(State& state, PyObject* object, Copying& copying) {
  const Ref capsule = find_capsule(state, object);
  if (!capsule) return {};
  const ArrayStruct fields = read_struct(capsule.get());
  BorrowedMemory memory;
  memory.data = fields.data;
  memory.readonly = (fields.flags & kWritable) == 0;
  memory.owner = Ref::borrow(object);
  memory.description = Ref::borrow(capsule.get());
  return array_over_borrowed(state, std::move(memory), elements_of(fields, copying), copying);
}

}  // namespace refarray::extension
