// Registers refarray's device kernels, compiled for the host, with the simulated drivers.
#include <cstring>

#include "../../tests/cpp/host_kernels.hpp"
#include "machine/kernels.hpp"

namespace {

namespace kernels = refarray::runtime::kernels;

kernels::Params parameters_of(const FakegpuLaunch* launch) {
  kernels::Params params;
  std::memcpy(&params, launch->parameters[0], sizeof params);
  return params;
}

std::uint64_t translated(std::uint64_t address) {
  return reinterpret_cast<std::uint64_t>(fakegpu_translate(reinterpret_cast<const void*>(address)));
}

kernels::Geometry geometry_of(const FakegpuLaunch* launch) {
  kernels::Geometry geometry;
  std::memcpy(geometry.grid, launch->grid, sizeof geometry.grid);
  std::memcpy(geometry.block, launch->block, sizeof geometry.block);
  return geometry;
}

void run(const FakegpuLaunch* launch) {
  kernels::Params params = parameters_of(launch);
  params.dst = translated(params.dst);
  if (params.src != 0) params.src = translated(params.src);
  kernels::host_kernel(launch->kernel->name)->run(params, geometry_of(launch));
}

std::size_t touches(const FakegpuLaunch* launch, FakegpuTouch* out, std::size_t room) {
  const kernels::Footprint footprint =
      kernels::footprint(launch->kernel->name, parameters_of(launch));
  if (room > 1) {
    out[0] = {footprint.src.begin, footprint.src.end, 0};
    out[1] = {footprint.dst.begin, footprint.dst.end, 1};
  }
  return 2;
}

/// The kernels take one-dimensional grids of kBlock threads per block.
const char* refuse(const FakegpuLaunch* launch) {
  const kernels::Params params = parameters_of(launch);
  if (launch->block[0] != kernels::kBlock || launch->block[1] * launch->block[2] != 1)
    return "a block that is not kBlock threads in one dimension";
  if (launch->grid[1] * launch->grid[2] != 1) return "a grid of more than one dimension";
  if (launch->shared_bytes != 0) return "dynamic shared memory for a kernel that uses none";
  constexpr std::uint64_t kPerBlock = std::uint64_t{kernels::kBlock} * kernels::kPerThread;
  const bool tiled = std::strncmp(launch->kernel->name, "refarray_tiled", 14) == 0;
  const std::uint64_t blocks = tiled ? params.count : (params.count + kPerBlock - 1) / kPerBlock;
  return launch->grid[0] == blocks ? nullptr : "more or fewer blocks than the elements need";
}

constexpr std::size_t kParameterBytes[] = {sizeof(kernels::Params)};

[[gnu::constructor]] void register_all() {
  for (const kernels::HostKernel& each : kernels::kHostKernels) {
    const FakegpuKernel kernel{each.name, kParameterBytes, 1,           run,
                               touches,   kernels::kBlock, each.shared, refuse};
    fakegpu_register_kernel(&kernel);
  }
}

}  // namespace
