// The registry of kernels, by name.
#include "machine/kernels.hpp"

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

std::vector<std::string> kernel_names() {
  Kernels& all = kernels();
  const std::lock_guard guard(all.lock);
  std::vector<std::string> names;
  for (const auto& [name, kernel] : all.by_name) names.push_back(name);
  return names;
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
