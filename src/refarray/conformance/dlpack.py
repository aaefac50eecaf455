"""Constants of dlpack.h that the kit uses: flag bits and device types."""

from __future__ import annotations

READ_ONLY = 1 << 0  # DLPACK_FLAG_BITMASK_READ_ONLY
IS_COPIED = 1 << 1  # DLPACK_FLAG_BITMASK_IS_COPIED
SUBBYTE_PADDED = 1 << 2  # DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
KNOWN_FLAGS = READ_ONLY | IS_COPIED | SUBBYTE_PADDED

CPU = 1
CUDA = 2
CUDA_HOST = 3
OPENCL = 4
VULKAN = 7
METAL = 8
ROCM = 10
ROCM_HOST = 11
CUDA_MANAGED = 13
WEBGPU = 15

GPU_MEMORY = frozenset({CUDA, ROCM})
"""Device types whose memory the host cannot read."""
HOST_READABLE = frozenset({CPU, CUDA_HOST, ROCM_HOST, CUDA_MANAGED})
"""Device types whose memory the host can read; their device_id is 0."""
HANDLES = {OPENCL: "opencl", VULKAN: "vulkan", METAL: "metal", WEBGPU: "webgpu"}
"""Device types whose `data` is a handle (cl_mem, id<MTLBuffer> …), not an address → the word for
each in the names of cases."""
