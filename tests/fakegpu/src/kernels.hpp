// Owns the list of kernels, compiled for the host, that modules of the simulated drivers offer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" {

struct FakegpuKernel;

/// How a kernel was launched. `parameters` are copies, valid while it runs.
struct FakegpuLaunch {
  const FakegpuKernel* kernel;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** parameters;
};

/// Bytes [begin, end) of public addresses that a launch reads or writes.
struct FakegpuTouch {
  std::uint64_t begin;
  std::uint64_t end;
  int write;
};

/// A kernel of the host: what it is called, the sizes of its parameters, its body, and what a
/// launch touches (fills at most `room` entries, returns how many there are).
struct FakegpuKernel {
  const char* name;
  const std::size_t* parameter_bytes;
  std::size_t parameters;
  void (*run)(const FakegpuLaunch* launch);
  std::size_t (*touches)(const FakegpuLaunch* launch, FakegpuTouch* out, std::size_t room);
};

/// Adds a kernel, or replaces the one of that name. The text and arrays must stay.
void fakegpu_register_kernel(const FakegpuKernel* kernel);

/// Where a kernel finds the bytes of an address that a program handed to it.
void* fakegpu_translate(const void* address);
}

namespace fakegpu {

using Kernel = FakegpuKernel;

const Kernel* find_kernel(const std::string& name);
std::vector<std::string> kernel_names();

}  // namespace fakegpu
