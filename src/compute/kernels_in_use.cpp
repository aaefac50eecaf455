// The kernels of computations that belong to the instruction set in use.
#include "compute/kernels_in_use.hpp"

#include <cstddef>

#include "core/kernels/table.hpp"

namespace refarray::core::kernels {

namespace operations_plain {
extern const Operations kOperations;
}
namespace products_plain {
const ProductKernels& product_kernels(ScalarType dtype, bool one_row) noexcept;
}
#if defined(__x86_64__)
namespace operations_avx2 {
extern const Operations kOperations;
}
namespace products_avx2 {
const ProductKernels& product_kernels(ScalarType dtype, bool one_row) noexcept;
}
namespace products_avx512 {
const ProductKernels& product_kernels(ScalarType dtype, bool one_row) noexcept;
}
#endif

namespace {

struct Kernels {
  const Operations* operations;
  decltype(&products_plain::product_kernels) products;
};

/// In the order of Level. cmake/Compute.cmake says which levels have kernels of their own.
constexpr Kernels kKernels[] = {
    {&operations_plain::kOperations, &products_plain::product_kernels},
    {&operations_plain::kOperations, &products_plain::product_kernels},
#if defined(__x86_64__)
    {&operations_avx2::kOperations, &products_avx2::product_kernels},
    {&operations_avx2::kOperations, &products_avx512::product_kernels},
#endif
};

const Kernels& in_use() noexcept { return kKernels[static_cast<std::size_t>(table().level)]; }

}  // namespace

const Operations& operations() noexcept { return *in_use().operations; }

const ProductKernels& products(ScalarType dtype, bool one_row) noexcept {
  return in_use().products(dtype, one_row);
}

}  // namespace refarray::core::kernels
