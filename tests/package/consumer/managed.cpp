// Includes refarray/dlpack/managed.hpp alone: the deleter runs once, and may be NULL.
#include <refarray/dlpack/managed.hpp>

namespace {

template <class M>
bool deletes_once() {
  int deletions = 0;
  M tensor{};
  tensor.manager_ctx = &deletions;
  tensor.deleter = [](M* self) { ++*static_cast<int*>(self->manager_ctx); };
  {
    const refarray::dlpack::Managed<M> managed(&tensor);
  }
  tensor.deleter = nullptr;
  {
    const refarray::dlpack::Managed<M> managed(&tensor);
  }
  return deletions == 1;
}

}  // namespace

bool use_managed() {
  return deletes_once<DLManagedTensor>() && deletes_once<DLManagedTensorVersioned>();
}
