// The kernels of Fourier transforms, by type.
#pragma once

#include <type_traits>

#include "core/kernels/operations/operations.hpp"
#include "core/kernels/operations/transforms/fourier.hpp"
#include "core/kernels/table.hpp"

namespace refarray::core {

template <class T>
const kernels::FourierKernels<T>& fourier_kernels() noexcept {
  const kernels::Operations& operations = *kernels::table().operations;
  if constexpr (std::is_same_v<T, float>) {
    return *operations.fourier_float;
  } else {
    return *operations.fourier_double;
  }
}

}  // namespace refarray::core
