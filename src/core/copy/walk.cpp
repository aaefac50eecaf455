// Walks the planes of a plan and calls the kernels for them.
#include "core/copy/walk.hpp"

namespace refarray::core {

namespace {

using kernels::Interleave;
using kernels::Plane;

constexpr std::int64_t kPrefetchRows = 16;  // prefetch distance

/// kRuns and kStrided.
void walk_planes(const Walk& walk) noexcept {
  const Plan& plan = walk.plan;
  const int last = plan.ndim - 1;
  const bool is_contiguous = plan.pattern == Pattern::kRuns;
  const kernels::PlaneKernel kernel =
      is_contiguous ? walk.table.rows : walk.table.strided[walk.word_index()];
  const std::int64_t word = plan.dst_bits / 8;
  Plane plane{plan.dst.data,
              plan.src.data,
              is_contiguous ? plan.shape[last] * word : plan.shape[last],
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
  plane.prefetch_distance = kPrefetchRows * plane.src_pitch;
  each_plane(plan, 2, [&](std::int64_t dst, std::int64_t src) {
    plane.dst = plan.dst.data + dst / 8;
    plane.src = plan.src.data + src / 8;
    kernel(plane);
  });
}

/// kInterleave and kDeinterleave.
void walk_interleaved(const Walk& walk) noexcept {
  const Plan& plan = walk.plan;
  const int last = plan.ndim - 1;
  const bool is_interleave = plan.pattern == Pattern::kInterleave;
  const kernels::InterleaveKernel kernel = is_interleave
                                               ? walk.table.interleave[walk.word_index()]
                                               : walk.table.deinterleave[walk.word_index()];
  Interleave call{nullptr,
                  nullptr,
                  is_interleave ? plan.shape[last - 1] : plan.shape[last],
                  (is_interleave ? plan.src_strides[last] : plan.dst_strides[last - 1]) / 8,
                  static_cast<int>(is_interleave ? plan.shape[last] : plan.shape[last - 1]),
                  walk.streams};
  each_plane(plan, 2, [&](std::int64_t dst, std::int64_t src) {
    call.dst = plan.dst.data + dst / 8;
    call.src = plan.src.data + src / 8;
    kernel(call);
  });
}

/// Conversions, except transposes.
void walk_conversion(const Walk& walk) noexcept {
  const Plan& plan = walk.plan;
  each_plane(plan, 1, [&](std::int64_t dst, std::int64_t src) {
    walk.conversion->apply(plan.dst.at(dst), plan.src.at(src), plan.shape[plan.ndim - 1]);
  });
}

}  // namespace

void walk(const Plan& plan, bool streams) noexcept {
  const kernels::Table& table = kernels::table();
  if (!plan.moves) {
    const ConversionChain conversion(plan.to, plan.from, table);
    const Walk whole{plan, table, &conversion, false};
    plan.pattern == Pattern::kTiles ? walk_tiles(whole) : walk_conversion(whole);
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
      walk_interleaved(whole);
      break;
  }
  if (streams) table.fence();
}

}  // namespace refarray::core
