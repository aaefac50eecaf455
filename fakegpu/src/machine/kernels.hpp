// Kernels compiled for the host, which every module of the simulated drivers offers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" {

struct FakegpuKernel;

/// A kernel launch. `parameters` are copies, valid while the kernel runs.
struct FakegpuLaunch {
  const FakegpuKernel* kernel;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** parameters;
};

/// Public addresses [begin, end) that a launch reads or writes.
struct FakegpuTouch {
  std::uint64_t begin;
  std::uint64_t end;
  int write;
};

/// A kernel: its name, parameter sizes, body, accesses and needs. `touches` fills at most `room`
/// entries and returns how many there are.
struct FakegpuKernel {
  const char* name;
  const std::size_t* parameter_bytes;
  std::size_t parameters;
  void (*run)(const FakegpuLaunch* launch);
  std::size_t (*touches)(const FakegpuLaunch* launch, FakegpuTouch* out, std::size_t room);
  unsigned max_threads;      // of a block; a launch with more fails. 0: no limit of its own
  std::size_t shared_bytes;  // static shared memory of a block
  /// Why the kernel is not meant for a grid, block or dynamic shared memory; nullptr if it is.
  const char* (*refuse)(const FakegpuLaunch* launch);
};

/// Registers a kernel, replacing one with the same name. The pointers must stay valid.
void fakegpu_register_kernel(const FakegpuKernel* kernel);

/// Translates an address that the program passed to a kernel into one the kernel can access.
void* fakegpu_translate(const void* address);
}

namespace fakegpu {

using Kernel = FakegpuKernel;

const Kernel* find_kernel(const std::string& name);

}  // namespace fakegpu
