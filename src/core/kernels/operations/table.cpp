// The kernels of computations of one instruction set, put together.
#include "core/kernels/operations/families.hpp"
#include "core/kernels/operations/operations.hpp"

namespace refarray::core::kernels::REFARRAY_OPERATIONS {
namespace {

ElementwiseFunction elementwise(Elementwise operation, int dtype) noexcept {
  for (const auto find : {&arithmetic, &comparison, &bits, &selection}) {
    if (const ElementwiseFunction kernel = find(operation, dtype)) return kernel;
  }
  return nullptr;
}

}  // namespace

extern const Gathering kGathering;  // gather.cpp

extern const Operations kOperations;
const Operations kOperations{&elementwise, &kGathering};

}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
