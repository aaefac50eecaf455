// Runs the device kernels on the host, to test them without a device.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/kernels/device_cast.hpp"
#include "runtime/kernels/device_rows.hpp"
#include "runtime/kernels/device_strided.hpp"
#include "runtime/kernels/names.hpp"
#include "runtime/kernels/tiled.hpp"

namespace refarray::runtime::kernels {

/// The blocks of a launch and the threads of a block. The kernels read only their x indices.
struct Geometry {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {kBlock, 1, 1};
};

namespace detail {

template <class Body, int kPhase>
inline void run_phase(const Params& params, std::uint32_t block, const Geometry& how,
                      typename Body::Shared& shared) noexcept {
  for (std::uint32_t thread = 0; thread < how.block[0] * how.block[1] * how.block[2]; ++thread)
    Body::template run<kPhase>(params, block, thread % how.block[0], shared);
}

/// Each phase is a loop over the threads of a block, so that barriers lie between two loops.
template <class Body>
inline void run_on_host(const Params& params, const Geometry& how) noexcept {
  thread_local typename Body::Shared shared;  // up to 20 KiB, which a frame may not have
  const std::uint64_t blocks = std::uint64_t{how.grid[0]} * how.grid[1] * how.grid[2];
  for (std::uint64_t block = 0; block < blocks; ++block) {
    [&]<int... kPhases>(std::integer_sequence<int, kPhases...>) {
      (run_phase<Body, kPhases>(params, static_cast<std::uint32_t>(block % how.grid[0]), how,
                                shared),
       ...);
    }(std::make_integer_sequence<int, Body::kPhases>{});
  }
}

template <class Body>
inline constexpr std::size_t kSharedBytes =
    std::is_empty_v<typename Body::Shared> ? 0 : sizeof(typename Body::Shared);

}  // namespace detail

struct HostKernel {
  const char* name;
  void (*run)(const Params& params, const Geometry& how) noexcept;
  std::size_t shared;  // bytes of static shared memory per block
};

/// Of the bodies in the order of kKernelNames.
template <class... Bodies>
constexpr std::array<HostKernel, kKernelNames.size()> host_kernels_of() {
  static_assert(sizeof...(Bodies) == kKernelNames.size());
  std::size_t i = 0;
  return {
      HostKernel{kKernelNames[i++], &detail::run_on_host<Bodies>, detail::kSharedBytes<Bodies>}...};
}
inline constexpr auto kHostKernels =
    host_kernels_of<Strided<1>, Strided<2>, Strided<4>, Strided<8>, Strided<16>, Fill<1>, Fill<2>,
                    Fill<4>, Fill<8>, Fill<16>, Tiled<1>, Tiled<2>, Tiled<4>, Tiled<8>, Rows, Bits,
                    FillBits, Cast>();

/// nullptr for an unknown name.
inline const HostKernel* host_kernel(std::string_view name) noexcept {
  for (const HostKernel& kernel : kHostKernels) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

/// Addresses [begin, end) of all bytes that a launch accesses; empty if it accesses none.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
struct Footprint {
  Range dst;
  Range src;
};

namespace detail {

/// The lowest and the highest offset of a word relative to word (0,...,0), in the units of the
/// kernel: bytes or bits.
struct Reach {
  std::int64_t low = 0;
  std::int64_t high = 0;

  void add(std::uint32_t extent, std::int64_t stride) noexcept {
    const std::int64_t farthest = (std::int64_t{extent} - 1) * stride;
    (farthest < 0 ? low : high) += farthest;
  }
  Range bytes(std::uint64_t base, std::int64_t word) const noexcept {
    return {base + static_cast<std::uint64_t>(low), base + static_cast<std::uint64_t>(high + word)};
  }
  Range bits(std::uint64_t base, std::int64_t first, std::int64_t width) const noexcept {
    return {base + static_cast<std::uint64_t>((first + low) >> 3),
            base + static_cast<std::uint64_t>((first + high + width + 7) >> 3)};
  }
};

}  // namespace detail

/// The memory that a launch with `params` accesses.
inline Footprint footprint(std::string_view name, const Params& params) noexcept {
  detail::Reach dst;
  detail::Reach src;
  for (int a = 0; a < params.axes; ++a) {
    dst.add(params.axis[a].extent.value, params.axis[a].dst);
    src.add(params.axis[a].extent.value, params.axis[a].src);
  }
  Footprint out;
  if (name.starts_with("refarray_bits") || name.starts_with("refarray_cast") ||
      name.starts_with("refarray_fill_bits")) {
    out = {dst.bits(params.dst, params.dst_bit, params.dst_width),
           src.bits(params.src, params.src_bit, params.src_width)};
  } else {
    std::int64_t word = params.dst_width / 8;
    if (name.starts_with("refarray_rows")) word = params.plane.columns;
    if (name.starts_with("refarray_tiled")) {
      const Plane& plane = params.plane;
      dst.add(plane.rows, word);
      dst.add(plane.column_part.value, plane.dst_pitch);
      dst.add(plane.columns / plane.column_part.value, plane.dst_leap);
      src.add(plane.columns, word);
      src.add(plane.row_part.value, plane.src_pitch);
      src.add(plane.rows / plane.row_part.value, plane.src_leap);
    }
    out = {dst.bytes(params.dst, word), src.bytes(params.src, word)};
  }
  if (name.starts_with("refarray_fill")) out.src = {};
  return out;
}

}  // namespace refarray::runtime::kernels
