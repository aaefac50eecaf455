// The kernels of Fourier transforms, by type.
#pragma once

#include <type_traits>

#include "compute/kernels/transforms/fourier.hpp"
#include "compute/kernels_in_use.hpp"

namespace refarray::core {

template <class T>
const kernels::FourierKernels<T>& fourier_kernels() noexcept {
  const kernels::Operations& operations = kernels::operations();
  if constexpr (std::is_same_v<T, float>) {
    return *operations.fourier_float;
  } else {
    return *operations.fourier_double;
  }
}

}  // namespace refarray::core
