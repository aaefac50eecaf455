// Modules, kernel launches and host functions: kernels run as host code.
#include <cstring>

#include "machine/capture.hpp"
#include "machine/driver.hpp"

namespace fakegpu {
namespace {

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

}  // namespace

int module_load(Call& call, Handle* out, const void* image) {
  Context* context = current_context(call);
  if (context == nullptr) return kInvalidContext;
  if (image == nullptr || out == nullptr) return kInvalidValue;
  Module* module = call.machine.modules.add();
  module->context = context;
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
  if (kernel == nullptr) return kNotFound;
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
  if (function->module->context != stream->context) {
    call.violation("wrong-device-launch", "a kernel of one context on a stream of another");
    return kInvalidHandle;
  }
  for (int i = 0; i < 3; ++i)
    if (grid[i] == 0 || block[i] == 0 || (i > 0 && grid[i] > 65535)) return kInvalidValue;
  if (block[0] * block[1] * block[2] > 1024) return kInvalidValue;
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
  call.note("grid", grid[0]).note("block", block[0]);
  return submit(call, *stream,
                {[how, copies, run = kernel.run] { run(&how); }, touches_of(kernel, how)}, true);
}

int launch_host(Call& call, Handle stream_handle, void (*function)(void*), void* data) {
  Stream* stream = nullptr;
  if (const int code = find_stream(call, stream_handle, stream)) return code;
  if (function == nullptr) return kInvalidValue;
  return submit(call, *stream,
                {[function, data] {
                   in_host_function() = true;
                   function(data);
                   in_host_function() = false;
                 },
                 {}});
}

}  // namespace fakegpu
