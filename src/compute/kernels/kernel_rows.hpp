// Tables of elementwise kernels: for each function of a source file, the kernels by dtype, made
// from the dtypes that the function's row accepts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "compute/kernels/loops.hpp"
#include "compute/ops/elementwise_rows.hpp"
#include "compute/ops/functors/types.hpp"

namespace refarray::core::kernels {
namespace {

using functors::Boolean;
using functors::Complex;

/// In the order of ScalarType.
template <std::size_t Row>
using ComputedType =
    std::tuple_element_t<Row,
                         std::tuple<Boolean, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                    std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t,
                                    float, double, Complex<float>, Complex<double>>>;
inline constexpr std::size_t kComputedTypes = 13;

using KernelsByType = std::array<ElementwiseFunction, kComputedTypes>;

struct KernelRow {
  Elementwise operation;
  KernelsByType kernels;
};

/// The loops of kernels of two inputs, unless a row names others.
struct ElementLoops {
  template <class F, class T, class R>
  static constexpr ElementwiseFunction kKernel = &binary_kernel<F, T, R>;
};

/// Functor `F` for the dtypes that the function accepts, or for those of `Only`.
template <Elementwise Operation, class F, DtypeSet Only = row_of(Operation).accepts,
          class Loops = ElementLoops>
constexpr KernelRow kernel_row() {
  const auto kernel = []<std::size_t Row>() -> ElementwiseFunction {
    using T = ComputedType<Row>;
    if constexpr (!contains(Only, static_cast<ScalarType>(Row))) {
      return nullptr;
    } else if constexpr (row_of(Operation).inputs == 1) {
      return &unary_kernel<F, T, decltype(F::apply(T{}))>;
    } else {
      return Loops::template kKernel<F, T, decltype(F::apply(T{}, T{}))>;
    }
  };
  return [&]<std::size_t... Rows>(std::index_sequence<Rows...>) {
    return KernelRow{Operation, {kernel.template operator()<Rows>()...}};
  }(std::make_index_sequence<kComputedTypes>());
}

ElementwiseFunction& kernel_in(ElementwiseTable& table, Elementwise operation,
                               ScalarType dtype) noexcept {
  return table.by_dtype[static_cast<std::size_t>(operation)][static_cast<std::size_t>(dtype)];
}

/// Puts the kernels of the rows into the table.
template <std::size_t N>
void add_rows(ElementwiseTable& table, const std::array<KernelRow, N>& rows) noexcept {
  for (const KernelRow& row : rows) {
    for (std::size_t i = 0; i < row.kernels.size(); ++i)
      if (row.kernels[i] != nullptr)
        kernel_in(table, row.operation, static_cast<ScalarType>(i)) = row.kernels[i];
  }
}

}  // namespace
}  // namespace refarray::core::kernels
