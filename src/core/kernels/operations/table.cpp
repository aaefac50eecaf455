// The kernels of computations of one instruction set, put together.
#include "core/kernels/operations/operations.hpp"

namespace refarray::core::kernels::REFARRAY_OPERATIONS {

extern const Operations kOperations;
const Operations kOperations{nullptr};

}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
