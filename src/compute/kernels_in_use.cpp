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
}  // namespace refarray::core::kernels

namespace refarray::core::math {

namespace math_plain {
const kernels::ElementwiseTable& functions() noexcept;
}
#if defined(__x86_64__)
namespace math_avx2 {
const kernels::ElementwiseTable& functions() noexcept;
}
namespace math_avx512 {
const kernels::ElementwiseTable& functions() noexcept;
}
#endif

}  // namespace refarray::core::math

namespace refarray::core::kernels {

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
  decltype(&math::math_plain::functions) mathematics;
};

/// In the order of Level. cmake/Compute.cmake says which levels have kernels of their own.
constexpr Kernels kKernels[] = {
    {&operations_plain::kOperations, &products_plain::product_kernels,
     &math::math_plain::functions},
    {&operations_plain::kOperations, &products_plain::product_kernels,
     &math::math_plain::functions},
#if defined(__x86_64__)
    {&operations_avx2::kOperations, &products_avx2::product_kernels, &math::math_avx2::functions},
    {&operations_avx2::kOperations, &products_avx512::product_kernels,
     &math::math_avx512::functions},
#endif
};

const Kernels& in_use() noexcept { return kKernels[static_cast<std::size_t>(table().level)]; }

}  // namespace

const Operations& operations() noexcept { return *in_use().operations; }

const ProductKernels& products(ScalarType dtype, bool one_row) noexcept {
  return in_use().products(dtype, one_row);
}

const ElementwiseTable& mathematics() noexcept { return in_use().mathematics(); }

}  // namespace refarray::core::kernels
