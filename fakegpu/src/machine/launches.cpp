// Modules, kernel launches and host functions: kernels run as host code.
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "machine/capture.hpp"
#include "machine/driver.hpp"

namespace fakegpu {
namespace {

constexpr unsigned kMaxThreads = 1024;  // of a block

/// Copies of a launch's parameters, and the address of each.
struct Parameters {
  std::vector<std::vector<std::uint64_t>> values;  // aligned to 8 bytes
  std::vector<void*> addresses;
};

std::shared_ptr<Parameters> copy_parameters(const Kernel& kernel, void** parameters) {
  auto copies = std::make_shared<Parameters>();
  for (std::size_t i = 0; i < kernel.parameters; ++i) {
    const std::size_t bytes = kernel.parameter_bytes[i];
    auto& value = copies->values.emplace_back((bytes + 7) / 8);
    std::memcpy(value.data(), parameters[i], bytes);
  }
  for (auto& value : copies->values) copies->addresses.push_back(value.data());
  return copies;
}

/// The other form of parameters (`extra`): one buffer, each parameter at its natural alignment.
bool from_buffer(const Kernel& kernel, void** extra, std::vector<void*>& parameters) {
  char* buffer = nullptr;
  for (; reinterpret_cast<std::uintptr_t>(*extra) == 1 ||
         reinterpret_cast<std::uintptr_t>(*extra) == 2;
       extra += 2)
    if (reinterpret_cast<std::uintptr_t>(*extra) == 1) buffer = static_cast<char*>(extra[1]);
  if (buffer == nullptr) return false;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kernel.parameters; ++i) {
    const std::size_t bytes = kernel.parameter_bytes[i];
    const std::size_t unit = bytes >= 8 ? 8 : bytes;
    at = (at + unit - 1) / unit * unit;
    parameters.push_back(buffer + at);
    at += bytes;
  }
  return true;
}

std::vector<Touch> touches_of(const Kernel& kernel, const FakegpuLaunch& launch) {
  std::vector<FakegpuTouch> raw(16);
  std::size_t count =
      kernel.touches == nullptr ? 0 : kernel.touches(&launch, raw.data(), raw.size());
  if (count > raw.size()) {
    raw.resize(count);
    count = kernel.touches(&launch, raw.data(), raw.size());
  }
  std::vector<Touch> touches;
  for (std::size_t i = 0; i < count; ++i)
    touches.push_back({raw[i].begin, raw[i].end, raw[i].write != 0});
  return touches;
}

/// The sample kernels are in every module.
bool is_in(const Image& image, const Kernel& kernel) {
  return std::strncmp(kernel.name, "fakegpu_", 8) == 0 || image.kernels.contains(kernel.name);
}

std::size_t parameter_bytes(const Image& image, const Kernel& kernel) {
  const auto found = image.kernels.find(kernel.name);
  return found == image.kernels.end() ? 0 : found->second.parameter_bytes;
}

std::size_t total_bytes(const Kernel& kernel) {
  return std::accumulate(kernel.parameter_bytes, kernel.parameter_bytes + kernel.parameters,
                         std::size_t{0});
}

/// The most threads of a block that the kernel was compiled for.
unsigned max_threads(const Function& function) {
  const Kernel& kernel = *function.kernel;
  const auto found = function.module->image.kernels.find(kernel.name);
  const unsigned said =
      found == function.module->image.kernels.end() ? 0 : found->second.max_threads;
  unsigned most = kMaxThreads;
  for (const unsigned one : {said, kernel.max_threads})
    if (one != 0 && one < most) most = one;
  return most;
}

/// Why the device cannot run such a launch; nullptr if it can.
const char* impossible(const Call& call, const Function& function, const FakegpuLaunch& how) {
  static constexpr unsigned kMaxBlock[3] = {1024, 1024, 64};
  const bool cuda = call.vendor == Vendor::kCuda;
  std::uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    const unsigned most = i > 0 ? 65535 : 2147483647;
    if (how.grid[i] == 0 || how.grid[i] > most) return "a grid that no device has";
    if (how.block[i] == 0 || how.block[i] > kMaxBlock[i]) return "a block that no device has";
    threads *= how.block[i];
    // documented: HIP supports fewer than 2^32 threads in each dimension
    if (!cuda && (std::uint64_t{how.grid[i]} * how.block[i]) >> 32 != 0)
      return "2^32 or more threads in a dimension";
  }
  if (threads > max_threads(function)) return "more threads in a block than the kernel's limit";
  if (function.kernel->shared_bytes + how.shared_bytes > (cuda ? 49152 : 65536))
    return "more shared memory than a block has";
  return nullptr;
}

int check_geometry(Call& call, const Function& function, const FakegpuLaunch& how) {
  call.note("grid", how.grid[0]).note("block", how.block[0]).note("shared", how.shared_bytes);
  if (const char* why = impossible(call, function, how)) {
    call.violation("wrong-launch", why);
    return kInvalidValue;
  }
  // the device runs it all the same, as launched
  const char* why = function.kernel->refuse == nullptr ? nullptr : function.kernel->refuse(&how);
  if (why != nullptr) call.violation("wrong-launch", why);
  return kSuccess;
}

}  // namespace

int module_load(Call& call, Handle* out, const void* image) {
  Context* context = nullptr;
  if (const int code = find_current(call, context)) return code;
  if (image == nullptr || out == nullptr) return kInvalidValue;
  Image read;
  const int code = read_image(call.vendor, call.machine.settings.cuda_version, image, read);
  if (read.wrong != nullptr) call.violation("wrong-image", read.wrong);
  const char* no_jit = std::getenv("CUDA_DISABLE_PTX_JIT");
  if (call.vendor == Vendor::kCuda && no_jit != nullptr && std::strcmp(no_jit, "1") == 0)
    return kJitDisabled;
  if (code != kSuccess) return code;
  Module* module = call.machine.modules.add();
  module->context = context;
  module->image = std::move(read);
  *out = module->handle;
  call.note("device", context->device->ordinal).note("module", *out);
  return kSuccess;
}

int module_unload(Call& call, Handle handle) {
  Module* module = call.machine.modules.alive(handle);
  if (module == nullptr) return kInvalidHandle;
  module->alive = false;
  return kSuccess;
}

int module_function(Call& call, Handle* out, Handle handle, const char* name) {
  Module* module = call.machine.modules.alive(handle);
  if (module == nullptr) return kInvalidHandle;
  if (name == nullptr || out == nullptr) return kInvalidValue;
  call.note("kernel", name);
  const Kernel* kernel = find_kernel(name);
  if (kernel == nullptr || !is_in(module->image, *kernel)) return kNotFound;
  const std::size_t bytes = parameter_bytes(module->image, *kernel);
  if (bytes != 0 && bytes != total_bytes(*kernel))
    call.violation("wrong-image", "the image's kernel has parameters of another size");
  Function* function = call.machine.functions.add();
  function->module = module;
  function->kernel = kernel;
  *out = function->handle;
  return kSuccess;
}

int launch(Call& call, Handle handle, const unsigned (&grid)[3], const unsigned (&block)[3],
           unsigned shared_bytes, Handle stream_handle, void** parameters, void** extra) {
  const Function* function = call.machine.functions.alive(handle);
  if (function == nullptr || !function->module->alive) {
    call.violation("bad-handle", "no such kernel function", 0, handle);
    return kInvalidHandle;
  }
  const Kernel& kernel = *function->kernel;
  call.note("kernel", kernel.name);
  Stream* stream = nullptr;
  if (const int code = find_stream(call, stream_handle, stream)) return code;
  Context& whole = stream->context->whole();
  if (&function->module->context->whole() != &whole) {
    call.violation("wrong-device-launch", "a kernel of one context on a stream of another");
    return kInvalidHandle;
  }
  Context* current = current_context(call);
  if (current == nullptr || &current->whole() != &whole) {
    call.violation("wrong-device-launch", "the stream's context is not current");
    return kInvalidHandle;
  }
  if (parameters != nullptr && extra != nullptr) return kInvalidValue;
  std::vector<void*> unpacked;
  if (parameters == nullptr && extra != nullptr) {
    if (!from_buffer(kernel, extra, unpacked)) return kInvalidValue;
    parameters = unpacked.data();
  }
  if (parameters == nullptr && kernel.parameters > 0) return kInvalidValue;
  const auto copies = copy_parameters(kernel, parameters);
  const FakegpuLaunch how{&kernel,
                          {grid[0], grid[1], grid[2]},
                          {block[0], block[1], block[2]},
                          shared_bytes,
                          copies->addresses.data()};
  if (const int code = check_geometry(call, *function, how)) return code;
  Job job;
  job.run = [how, copies, run = kernel.run] { run(&how); };
  job.touches = touches_of(kernel, how);
  job.kernel = true;
  return submit(call, *stream, std::move(job));
}

int launch_host(Call& call, Handle stream_handle, void (*function)(void*), void* data) {
  Stream* stream = nullptr;
  if (const int code = find_stream(call, stream_handle, stream)) return code;
  if (function == nullptr) return kInvalidValue;
  Job job;
  job.run = [function, data] {
    in_host_function() = true;
    function(data);
    in_host_function() = false;
  };
  return submit(call, *stream, std::move(job));
}

}  // namespace fakegpu
