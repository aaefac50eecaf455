// Conversion of allocators to capsules and back, and the function behind refarray.use_allocator().
#include "extension/objects/allocator_capsule.hpp"

#include <memory>
#include <utility>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/methods.hpp"

namespace refarray::extension {
namespace {

constexpr char kUseAllocatorDoc[] = R"doc(_use_allocator($module, allocator, /)
--

Set the allocator of the calling thread; return the one before. None is refarray's own.)doc";

constexpr const char* kAllocatorCapsule = "refarray.allocator";

void drop_allocator(PyObject* capsule) noexcept {
  delete static_cast<core::AllocatorPtr*>(PyCapsule_GetPointer(capsule, kAllocatorCapsule));
}

Ref module_use_allocator(PyObject*, PyObject* allocator) { return use_allocator(allocator); }

}  // namespace

Ref allocator_object(core::AllocatorPtr allocator) {
  if (!allocator) return Ref::borrow(Py_None);
  auto made = std::make_unique<core::AllocatorPtr>(std::move(allocator));
  Ref out = check(PyCapsule_New(made.get(), kAllocatorCapsule, &drop_allocator));
  (void)made.release();  // the capsule owns it
  return out;
}

core::AllocatorPtr to_allocator(PyObject* object) {
  if (object == Py_None) return {};
  if (object == nullptr || !PyCapsule_IsValid(object, kAllocatorCapsule)) {
    core::fail(core::Fault::kType, "allocator must be None or a capsule of make_allocator(), not ",
               object == nullptr ? "NULL" : short_repr(object));
  }
  return *static_cast<core::AllocatorPtr*>(PyCapsule_GetPointer(object, kAllocatorCapsule));
}

Ref use_allocator(PyObject* allocator) {
  core::AllocatorPtr next = to_allocator(allocator);
  core::AllocatorPtr before = core::exchange_allocator({});
  core::exchange_allocator(before);
  Ref out = allocator_object(std::move(before));
  core::exchange_allocator(std::move(next));  // after all that can fail
  return out;
}

PyMethodDef kAllocatorFunctions[] = {
    {"_use_allocator", method<&module_use_allocator>(), METH_O, kUseAllocatorDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
