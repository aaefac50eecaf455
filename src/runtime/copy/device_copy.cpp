// Enqueues planned copies on a stream, with temporary arrays where needed.
#include "runtime/copy/device_copy.hpp"

#include <vector>

#include "runtime/copy/operation.hpp"
#include "runtime/memory/device_storage.hpp"
#include "runtime/streams/stream_key.hpp"

namespace refarray::runtime {
namespace {

using core::ArrayView;
using core::DeviceKind;

/// The device must be current. All kernels are looked up before anything is enqueued.
void enqueue(DeviceContext& context, const DeviceSteps& steps, const StreamPtr& stream) {
  const DriverTable& api = context.api();
  std::vector<Handle> functions;
  functions.reserve(steps.size());
  for (const DeviceStep& step : steps) {
    const bool launches = step.kind == DeviceStep::Kind::kLaunch;
    functions.push_back(launches ? context.kernel_module.kernel(context.driver, step.kernel)
                                 : nullptr);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    kernels::Params params = steps[i].params;  // copied by the driver during the call
    if (steps[i].kind == DeviceStep::Kind::kMemcpy) {
      context.check(
          api.copy(static_cast<Address>(params.dst), static_cast<Address>(params.src),
                   static_cast<std::size_t>(steps[i].nbytes), Direction::kAny, stream->handle()),
          "copying memory");
      continue;
    }
    void* parameters[] = {&params};
    context.check(api.launch(functions[i], steps[i].grid, 1, 1, kernels::kBlock, 1, 1, 0,
                             stream->handle(), parameters, nullptr),
                  "launching a kernel");
  }
}

void run(const ArrayView& dst, const ArrayView& src, const DeviceSteps& steps,
         const StreamPtr& stream) {
  Operation operation(dst, src, stream);
  const DeviceGuard on_device(stream->context());
  enqueue(stream->context(), steps, stream);
  operation.finish();
}

}  // namespace

DeviceContext& kernel_context(const ArrayView& dst, const ArrayView& src) {
  const bool by_src = dst.device().kind == DeviceKind::kCudaManaged;
  return context_of(by_src ? src.device() : dst.device());
}

bool has_kernels(DeviceContext& context) {
  const DeviceGuard on_device(context);
  return context.kernel_module.kernel(context.driver, 0) != nullptr;
}

void copy_by_kernels(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  DeviceContext& context = kernel_context(dst, src);
  const StreamPtr on = stream_on(context, stream);
  if (core::may_overlap(dst, src)) {
    const core::Array copied =
        new_array(src.dtype, src.extents(), device_of(context), /*zeroed=*/false, on);
    run(copied, src, plan_device_copy(copied, src), on);
    run(dst, copied, plan_device_copy(dst, copied), on);
  } else {
    run(dst, src, plan_device_copy(dst, src), on);
  }
}

void fill_by_kernels(const ArrayView& dst, const std::byte* value, const StreamPtr& stream) {
  DeviceContext& context = context_of(dst.device());
  const StreamPtr on = stream_on(context, stream);
  run(dst, dst, plan_device_fill(dst, value), on);
}

void copy_between(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  const StreamPtr src_stream = stream_on(context_of(src.device()), stream);
  const StreamPtr dst_stream = stream_on(context_of(dst.device()), stream);
  core::Array packed;  // in dst's dtype, on src's device
  ArrayView from = src;
  if (dst.dtype != src.dtype || !is_contiguous(src)) {
    packed = new_array(dst.dtype, src.extents(), src.device(), /*zeroed=*/false, src_stream);
    copy_by_kernels(packed, src, src_stream);
    from = packed;
  }
  if (is_contiguous(dst)) {
    copy_bytes(dst, from, dst.nbytes(), dst_stream);
  } else {
    const core::Array staged =
        new_array(dst.dtype, dst.extents(), dst.device(), /*zeroed=*/false, dst_stream);
    copy_bytes(staged, from, dst.nbytes(), dst_stream);
    copy_by_kernels(dst, staged, dst_stream);
  }
}

}  // namespace refarray::runtime
