// Execution of a plan on the calling thread.
#pragma once

#include <bit>

#include "core/copy/conversion_chain.hpp"
#include "core/copy/plan.hpp"
#include "core/kernels/table.hpp"

namespace refarray::core {

/// Arguments shared by the walkers of all patterns.
struct Walk {
  const Plan& plan;
  const kernels::Table& table;
  const ConversionChain* conversion;  // nullptr if the plan moves bytes
  bool streams;                       // use non-temporal stores

  /// Index into the kernel tables for the word size of src.
  int word_index() const noexcept {
    return std::countr_zero(static_cast<unsigned>(plan.src_bits)) - 3;
  }
};

/// Carries out the plan with the kernels in use.
void walk(const Plan& plan, bool streams) noexcept;

/// Carries out a plan with the pattern kTiles.
void walk_tiles(const Walk& walk) noexcept;

/// Calls `visit(dst_offset, src_offset)`, in bits, for every index of all axes but the last
/// `inner`.
template <class Visit>
inline void each_plane(const Plan& plan, int inner, Visit visit) noexcept {
  std::int64_t index[kMaxRank];
  const int outer = plan.ndim - inner;
  for (int axis = 0; axis < outer; ++axis) index[axis] = 0;
  std::int64_t dst = 0;
  std::int64_t src = 0;
  for (;;) {
    visit(dst, src);
    int axis = outer - 1;
    for (; axis >= 0; --axis) {
      dst += plan.dst_strides[axis];
      src += plan.src_strides[axis];
      if (++index[axis] < plan.shape[axis]) break;
      index[axis] = 0;
      dst -= plan.shape[axis] * plan.dst_strides[axis];
      src -= plan.shape[axis] * plan.src_strides[axis];
    }
    if (axis < 0) return;
  }
}

}  // namespace refarray::core
