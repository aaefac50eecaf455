// The kernels of computations of one instruction set, put together.
#include "compute/kernels/operations.hpp"

#include "compute/kernels/families.hpp"

namespace refarray::core::kernels::REFARRAY_OPERATIONS {
namespace {

const ElementwiseTable& elementwise() noexcept {
  static const ElementwiseTable table = [] {
    ElementwiseTable out{};
    add_arithmetic(out);
    add_comparison(out);
    add_bits(out);
    return out;
  }();
  return table;
}

}  // namespace

// reductions.cpp, searches.cpp, scans.cpp
FoldKernels fold_kernels(Folding folding, ScalarType dtype) noexcept;
SearchKernels search_kernels(bool greatest, ScalarType dtype) noexcept;
ScanKernel scan_kernel(bool product, ScalarType dtype) noexcept;
void divide(ScalarType dtype, std::byte* values, std::int64_t count, double divisor) noexcept;
void deviate(std::byte* values, const std::byte* means, std::int64_t mean_step,
             std::int64_t count) noexcept;
void square_root(std::byte* values, std::int64_t count) noexcept;

extern const Gathering kGathering;                 // gather.cpp
extern const Sorting kSorting;                     // sort.cpp
extern const FourierKernels<float> kFourierFloat;  // fourier.cpp
extern const FourierKernels<double> kFourierDouble;

extern const Operations kOperations;
const Operations kOperations{
    &elementwise,
    kWhere,
    {&fold_kernels, &search_kernels, &scan_kernel, {&divide, &deviate, &square_root}},
    &kGathering,
    &kSorting,
    &kFourierFloat,
    &kFourierDouble};

}  // namespace refarray::core::kernels::REFARRAY_OPERATIONS
