// Entry points of the device kernels, compiled by clang for each GPU family
// (tools/gpu/gpu_kernels.py).

// clang's wrappers around the standard headers expect these macros of a vendor toolkit.
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#include <stdlib.h>

// All standard headers that ours include, outside the pragma below: their functions stay host-only
// unless constexpr.
#include <array>
#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#pragma clang force_cuda_host_device begin
#include "runtime/kernels/device_cast.hpp"
#include "runtime/kernels/device_rows.hpp"
#include "runtime/kernels/device_strided.hpp"
#include "runtime/kernels/tiled.hpp"
#pragma clang force_cuda_host_device end

namespace refarray::runtime::kernels {

#if defined(__NVPTX__)
__device__ inline std::uint32_t block_index() { return __nvvm_read_ptx_sreg_ctaid_x(); }
__device__ inline std::uint32_t thread_index() { return __nvvm_read_ptx_sreg_tid_x(); }
__device__ inline void barrier() { __syncthreads(); }
#else
__device__ inline std::uint32_t block_index() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline std::uint32_t thread_index() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#endif

template <class Body>
__device__ inline void run_on_device(const Params& params) {
  if constexpr (Body::kPhases == 1) {
    NoShared no_shared;
    Body::template run<0>(params, block_index(), thread_index(), no_shared);
  } else {
    static_assert(Body::kPhases == 2);
    __attribute__((shared)) static typename Body::Shared shared;
    Body::template run<0>(params, block_index(), thread_index(), shared);
    barrier();
    Body::template run<1>(params, block_index(), thread_index(), shared);
  }
}

/// Blocks that a multiprocessor must have registers for: enough to hide the loads of tiles; 0
/// leaves it to the compiler. Only for NVIDIA.
template <class Body>
constexpr int kResident = Body::kPhases == 1 ? 0 : 5;

#define REFARRAY_KERNEL(name, ...)                                                             \
  extern "C" __attribute__((global, launch_bounds(kBlock, kResident<__VA_ARGS__>))) void name( \
      const Params params) {                                                                   \
    run_on_device<__VA_ARGS__>(params);                                                        \
  }

REFARRAY_KERNEL(refarray_strided_1, Strided<1>)
REFARRAY_KERNEL(refarray_strided_2, Strided<2>)
REFARRAY_KERNEL(refarray_strided_4, Strided<4>)
REFARRAY_KERNEL(refarray_strided_8, Strided<8>)
REFARRAY_KERNEL(refarray_strided_16, Strided<16>)
REFARRAY_KERNEL(refarray_fill_1, Fill<1>)
REFARRAY_KERNEL(refarray_fill_2, Fill<2>)
REFARRAY_KERNEL(refarray_fill_4, Fill<4>)
REFARRAY_KERNEL(refarray_fill_8, Fill<8>)
REFARRAY_KERNEL(refarray_fill_16, Fill<16>)
REFARRAY_KERNEL(refarray_tiled_1, Tiled<1>)
REFARRAY_KERNEL(refarray_tiled_2, Tiled<2>)
REFARRAY_KERNEL(refarray_tiled_4, Tiled<4>)
REFARRAY_KERNEL(refarray_tiled_8, Tiled<8>)
REFARRAY_KERNEL(refarray_rows, Rows)
REFARRAY_KERNEL(refarray_bits, Bits)
REFARRAY_KERNEL(refarray_fill_bits, FillBits)
REFARRAY_KERNEL(refarray_cast, Cast)

}  // namespace refarray::runtime::kernels
