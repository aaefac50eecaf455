// Owns how a plan is carried out on the calling thread.
#pragma once

#include <bit>

#include "core/copy/conversion_chain.hpp"
#include "core/copy/plan.hpp"
#include "core/kernels/table.hpp"

namespace refarray::core {

/// What the walkers share.
struct Walk {
  const Plan& plan;
  const kernels::Table& table;
  const ConversionChain* recipe;  // nullptr when the plan moves
  bool streams;                   // the whole copy is larger than the caches

  /// Row of the kernel tables for the units of src.
  int unit() const noexcept { return std::countr_zero(static_cast<unsigned>(plan.src_bits)) - 3; }
};

/// StridedSpans the plan with the kernels in use.
void walk(const Plan& plan, bool streams) noexcept;

/// The tiles of every plane of a kTiles plan.
void walk_tiles(const Walk& walk) noexcept;

/// Calls `visit(dst, src)`, two distances in bits, for every index of the axes before the last
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
