// Owns the walker, which hands the planes of a plan to the kernels.
#include "core/copy/walk.hpp"

namespace refarray::core {

namespace {

using kernels::Interleave;
using kernels::Plane;

constexpr std::int64_t kRowsAhead = 16;

/// Rows of bytes, or of units at equal distances.
void walk_planes(const Walk& walk) noexcept {
  const Plan& plan = walk.plan;
  const int last = plan.ndim - 1;
  const bool is_gapless = plan.pattern == Pattern::kRuns;
  const kernels::PlaneKernel kernel =
      is_gapless ? walk.table.rows : walk.table.strided[walk.unit()];
  const std::int64_t unit = plan.dst_bits / 8;
  Plane plane{plan.dst.data,
              plan.src.data,
              is_gapless ? plan.shape[last] * unit : plan.shape[last],
              plan.dst_strides[last] / 8,
              plan.src_strides[last] / 8,
              1,
              0,
              0,
              walk.streams};
  if (plan.ndim == 1) return kernel(plane);
  plane.rows = plan.shape[last - 1];
  plane.dst_pitch = plan.dst_strides[last - 1] / 8;
  plane.src_pitch = plan.src_strides[last - 1] / 8;
  plane.ahead = kRowsAhead * plane.src_pitch;
  each_plane(plan, 2, [&](std::int64_t dst, std::int64_t src) {
    plane.dst = plan.dst.data + dst / 8;
    plane.src = plan.src.data + src / 8;
    kernel(plane);
  });
}

void walk_braids(const Walk& walk) noexcept {
  const Plan& plan = walk.plan;
  const int last = plan.ndim - 1;
  const bool apart_in_src = plan.pattern == Pattern::kInterleave;
  const kernels::InterleaveKernel kernel =
      apart_in_src ? walk.table.interleave[walk.unit()] : walk.table.deinterleave[walk.unit()];
  Interleave braid{nullptr,
                   nullptr,
                   apart_in_src ? plan.shape[last - 1] : plan.shape[last],
                   (apart_in_src ? plan.src_strides[last] : plan.dst_strides[last - 1]) / 8,
                   static_cast<int>(apart_in_src ? plan.shape[last] : plan.shape[last - 1]),
                   walk.streams};
  each_plane(plan, 2, [&](std::int64_t dst, std::int64_t src) {
    braid.dst = plan.dst.data + dst / 8;
    braid.src = plan.src.data + src / 8;
    kernel(braid);
  });
}

void walk_recipe(const Walk& walk) noexcept {
  const Plan& plan = walk.plan;
  each_plane(plan, 1, [&](std::int64_t dst, std::int64_t src) {
    walk.recipe->apply(plan.dst.at(dst), plan.src.at(src), plan.shape[plan.ndim - 1]);
  });
}

}  // namespace

void walk(const Plan& plan, bool streams) noexcept {
  const kernels::Table& table = kernels::table();
  if (!plan.moves) {
    const ConversionChain recipe(plan.to, plan.from, table);
    const Walk whole{plan, table, &recipe, false};
    plan.pattern == Pattern::kTiles ? walk_tiles(whole) : walk_recipe(whole);
    return;
  }
  const Walk whole{plan, table, nullptr, streams};
  switch (plan.pattern) {
    case Pattern::kRuns:
    case Pattern::kStrided:
      walk_planes(whole);
      break;
    case Pattern::kTiles:
      walk_tiles(whole);
      break;
    case Pattern::kInterleave:
    case Pattern::kDeinterleave:
      walk_braids(whole);
      break;
  }
  if (streams) table.fence();
}

}  // namespace refarray::core
