// Owns how planned steps become a driver's launches, and which temporary arrays a copy between
// devices needs.
#include "runtime/copy/device_copy.hpp"

#include <vector>

#include "runtime/copy/operation.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/pending_work.hpp"
#include "runtime/streams/stream_key.hpp"

namespace refarray::runtime {
namespace {

using core::ArrayView;
using core::DeviceKind;

/// The device must be current. Kernels are found before anything is enqueued.
void enqueue(DeviceContext& unit, const DeviceSteps& steps, const StreamPtr& stream) {
  const Api& api = unit.api();
  std::vector<Handle> kernels;
  kernels.reserve(steps.size());
  for (const DeviceStep& step : steps) {
    const bool launches = step.kind == DeviceStep::Kind::kLaunch;
    kernels.push_back(launches ? unit.modules.kernel(unit.driver, step.kernel) : nullptr);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    kernels::Params params = steps[i].params;  // the driver copies them during the call
    if (steps[i].kind == DeviceStep::Kind::kMemcpy) {
      unit.check(
          api.copy(static_cast<Address>(params.dst), static_cast<Address>(params.src),
                   static_cast<std::size_t>(steps[i].nbytes), Direction::kAny, stream->handle()),
          "copying memory");
      continue;
    }
    void* parameters[] = {&params};
    unit.check(api.launch(kernels[i], steps[i].grid, 1, 1, runtime::kernels::kBlock, 1, 1, 0,
                          stream->handle(), parameters, nullptr),
               "launching a kernel");
  }
}

void run(const ArrayView& dst, const ArrayView& src, const DeviceSteps& steps,
         const StreamPtr& stream) {
  Operation operation(dst, src, stream);
  const OnDevice here(stream->unit());
  enqueue(stream->unit(), steps, stream);
  operation.finish();
}

/// The consumer's stream was not of the device: it comes after the work all the same.
void follow(const ArrayView& dst, const StreamPtr& used, const StreamPtr& wanted) {
  TrackedStorage* storage = tracked(dst.storage);
  if (wanted == nullptr || wanted == used || storage == nullptr) return;
  if (&wanted->unit().driver != &used->unit().driver) return;
  const OnDevice here(wanted->unit());
  storage->uses.order_before(wanted->unit(), wanted->handle(), /*writes=*/false);
}

}  // namespace

StreamPtr stream_at(DeviceContext& unit, const StreamPtr& wanted) {
  return wanted != nullptr && &wanted->unit() == &unit ? wanted : current_stream_of(unit);
}

DeviceContext& kernel_unit(const ArrayView& dst, const ArrayView& src) {
  const bool by_src = dst.device().kind == DeviceKind::kCudaManaged;
  return unit_of(by_src ? src.device() : dst.device());
}

bool has_kernels(DeviceContext& unit) {
  const OnDevice here(unit);
  return unit.modules.kernel(unit.driver, 0) != nullptr;
}

void copy_by_kernels(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  DeviceContext& unit = kernel_unit(dst, src);
  const StreamPtr on = stream_at(unit, stream);
  if (core::may_overlap(dst, src)) {
    const core::Array copied =
        new_array(src.dtype, src.extents(), device_of(unit), /*zeroed=*/false, on);
    run(copied, src, plan_device_copy(copied, src), on);
    run(dst, copied, plan_device_copy(dst, copied), on);
  } else {
    run(dst, src, plan_device_copy(dst, src), on);
  }
  follow(dst, on, stream);
}

void fill_by_kernels(const ArrayView& dst, const std::byte* value, const StreamPtr& stream) {
  DeviceContext& unit = unit_of(dst.device());
  const StreamPtr on = stream_at(unit, stream);
  run(dst, dst, plan_device_fill(dst, value), on);
  follow(dst, on, stream);
}

void copy_between(const ArrayView& dst, const ArrayView& src, const StreamPtr& stream) {
  const StreamPtr there = stream_at(unit_of(src.device()), stream);
  const StreamPtr here = stream_at(unit_of(dst.device()), stream);
  core::Array packed;  // in the result's type already, beside the source
  ArrayView from = src;
  if (dst.dtype != src.dtype || !is_gapless(src)) {
    packed = new_array(dst.dtype, src.extents(), src.device(), /*zeroed=*/false, there);
    copy_by_kernels(packed, src, there);
    from = packed;
  }
  if (is_gapless(dst)) {
    copy_bytes(dst, from, dst.nbytes(), here);
  } else {
    const core::Array arrived =
        new_array(dst.dtype, dst.extents(), dst.device(), /*zeroed=*/false, here);
    copy_bytes(arrived, from, dst.nbytes(), here);
    copy_by_kernels(dst, arrived, here);
  }
  follow(dst, here, stream);
}

}  // namespace refarray::runtime
