// The C table refarray._C_API: its six functions, and the capsule around it.
#include "extension/dlpack/c_table.hpp"

#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/capi/errors.hpp"
#include "extension/dlpack/dlpack_import.hpp"
#include "extension/dlpack/exchange_table.hpp"
#include "extension/objects/array_object.hpp"
#include "refarray/python/c_api.h"

namespace refarray::extension {
namespace {

constexpr const char* kCTableCapsule = "refarray._C_API";

int table_is_array(PyObject* object) { return object != nullptr && is_any_array(object) ? 1 : 0; }

/// A DLTensor of which allocate_like() reads what is set here.
DLTensor prototype_of(DLDataType dtype, DLDevice device, std::int32_t ndim,
                      const std::int64_t* shape) noexcept {
  DLTensor out{};
  out.dtype = dtype;
  out.device = device;
  out.ndim = ndim;
  out.shape = const_cast<std::int64_t*>(shape);  // only read
  return out;
}

Ref table_empty(DLDataType dtype, DLDevice device, std::int32_t ndim, const std::int64_t* shape) {
  const Ref module = module_of_caller();
  const DLTensor prototype = prototype_of(dtype, device, ndim, shape);
  if (device.device_type != kDLCPU) prepare_for(device);
  return make_array(State::of_module(module.get()), dlpack::allocate_like(prototype));
}

Ref table_from_tensor(DLManagedTensorVersioned* tensor) {
  if (tensor == nullptr) raise(PyExc_ValueError, "from_tensor: tensor is NULL");
  return import_tensor(tensor);
}

DLManagedTensorVersioned* table_to_tensor(PyObject* array) {
  return export_tensor(array).release();
}

int table_borrow(PyObject* array, DLTensor* out, std::uint64_t* flags) {
  if (out == nullptr) raise(PyExc_ValueError, "borrow: out is NULL");
  if (flags == nullptr) raise(PyExc_ValueError, "borrow: flags is NULL");
  const auto [view, lent] = lent_view(array);
  dlpack::borrow(view, *out, lent);
  *flags = (view.readonly ? dlpack::kReadOnly : 0) | (view.dtype.padded ? dlpack::kPadded : 0);
  return 0;
}

Ref table_from_object(PyObject* object) {
  if (object == nullptr) raise(PyExc_ValueError, "from_object: object is NULL");
  const Ref module = module_of_caller();
  return module_from_dlpack(module.get(), &object, 1, nullptr);
}

const RefarrayCApi kCTable{
    REFARRAY_C_API_VERSION, sizeof(RefarrayCApi),     slot<&table_is_array>,
    slot<&table_empty>,     slot<&table_from_tensor>, slot<&table_to_tensor>,
    slot<&table_borrow>,    slot<&table_from_object>,
};

}  // namespace

Ref make_c_table_capsule() {
  // PyCapsule takes no const pointer; callers only read the table.
  return check(PyCapsule_New(const_cast<RefarrayCApi*>(&kCTable), kCTableCapsule, nullptr));
}

}  // namespace refarray::extension
