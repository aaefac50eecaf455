// Registers refarray's device kernels, compiled for the host, with the simulated drivers.
#include <cstring>

#include "../../cpp/host_kernels.hpp"
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

void run(const FakegpuLaunch* launch) {
  kernels::Params params = parameters_of(launch);
  params.dst = translated(params.dst);
  if (params.src != 0) params.src = translated(params.src);
  kernels::host_kernel(launch->kernel->name)->run(params, launch->grid[0]);
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

constexpr std::size_t kParameterBytes[] = {sizeof(kernels::Params)};

[[gnu::constructor]] void register_all() {
  for (const char* name : kernels::kKernelNames) {
    const FakegpuKernel kernel{name, kParameterBytes, 1, run, touches};
    fakegpu_register_kernel(&kernel);
  }
}

}  // namespace
