// The registry of kernels, by name, and the sample kernels.
#include "machine/kernels.hpp"

#include <cstring>
#include <map>
#include <mutex>

#include "memory/memory.hpp"

namespace fakegpu {
namespace {

struct Kernels {
  std::mutex lock;
  std::map<std::string, Kernel> by_name;
};

Kernels& kernels() {
  static auto* all = new Kernels;  // plug-ins register from constructors and are never unloaded
  return *all;
}

}  // namespace

const Kernel* find_kernel(const std::string& name) {
  Kernels& all = kernels();
  const std::lock_guard guard(all.lock);
  const auto found = all.by_name.find(name);
  return found == all.by_name.end() ? nullptr : &found->second;
}

}  // namespace fakegpu

void fakegpu_register_kernel(const FakegpuKernel* kernel) {
  fakegpu::Kernels& all = fakegpu::kernels();
  const std::lock_guard guard(all.lock);
  all.by_name[kernel->name] = *kernel;
}

void* fakegpu_translate(const void* address) {
  return reinterpret_cast<void*>(fakegpu::Memory::alias(reinterpret_cast<std::uint64_t>(address)));
}

// Kernels that every module offers: enough to test streams without registering one.
namespace {

template <class T>
T parameter(const FakegpuLaunch* launch, int index) {
  T value;
  std::memcpy(&value, launch->parameters[index], sizeof value);
  return value;
}

/// fakegpu_increment(uint32* at, uint64 count): adds 1 to each number.
void increment(const FakegpuLaunch* launch) {
  auto* at = static_cast<std::uint32_t*>(fakegpu_translate(parameter<void*>(launch, 0)));
  const auto count = parameter<std::uint64_t>(launch, 1);
  for (std::uint64_t i = 0; i < count; ++i) ++at[i];
}

std::size_t increment_touches(const FakegpuLaunch* launch, FakegpuTouch* out, std::size_t room) {
  const auto at = parameter<std::uint64_t>(launch, 0);
  if (room > 0) out[0] = {at, at + 4 * parameter<std::uint64_t>(launch, 1), 1};
  return 1;
}

/// fakegpu_copy(void* to, const void* from, uint64 bytes).
void copy(const FakegpuLaunch* launch) {
  std::memmove(fakegpu_translate(parameter<void*>(launch, 0)),
               fakegpu_translate(parameter<void*>(launch, 1)), parameter<std::uint64_t>(launch, 2));
}

std::size_t copy_touches(const FakegpuLaunch* launch, FakegpuTouch* out, std::size_t room) {
  const auto to = parameter<std::uint64_t>(launch, 0);
  const auto from = parameter<std::uint64_t>(launch, 1);
  const auto bytes = parameter<std::uint64_t>(launch, 2);
  if (room > 0) out[0] = {to, to + bytes, 1};
  if (room > 1) out[1] = {from, from + bytes, 0};
  return 2;
}

constexpr std::size_t kIncrementBytes[] = {8, 8};
constexpr std::size_t kCopyBytes[] = {8, 8, 8};

[[gnu::constructor]] void register_samples() {
  const FakegpuKernel increment_kernel{
      "fakegpu_increment", kIncrementBytes, 2, increment, increment_touches, 0, 0, nullptr};
  const FakegpuKernel copy_kernel{"fakegpu_copy", kCopyBytes, 3, copy, copy_touches, 0, 0, nullptr};
  fakegpu_register_kernel(&increment_kernel);
  fakegpu_register_kernel(&copy_kernel);
}

}  // namespace
