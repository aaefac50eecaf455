// Driver calls that fail become errors; device guards.
#include "runtime/drivers/driver.hpp"

#include "core/error.hpp"
#include "runtime/device_context.hpp"
#include "runtime/drivers/driver_error.hpp"

namespace refarray::runtime {

void Driver::fail(Status status, const char* call) const {
  const char* known = nullptr;
  const char* text = nullptr;
  if (api.error_name(status, &known) != kSuccess || known == nullptr) known = "unknown error";
  if (api.error_text(status, &text) != kSuccess || text == nullptr) text = "no description";
  std::string message =
      core::text(name(), ": ", call, " failed with ", status, " (", known, "): ", text);
  if (status == kOutOfMemory) throw core::Error(core::Fault::kMemory, std::move(message));
  throw DriverError(status, known, call, std::move(message));
}

namespace {

thread_local const DeviceContext* innermost = nullptr;  // the device of the innermost guard

}  // namespace

TryDeviceGuard::TryDeviceGuard(const DeviceContext& context) noexcept
    : context_(context), outer_(innermost) {
  if (outer_ != &context) status_ = context.api().enter(context.id, &before_);
  if (status_ == kSuccess) innermost = &context;
}
TryDeviceGuard::~TryDeviceGuard() {
  if (status_ != kSuccess) return;
  if (outer_ != &context_) context_.api().leave(before_);
  innermost = outer_;
}

DeviceGuard::DeviceGuard(const DeviceContext& context) : guard_(context) {
  context.check(guard_.status(), "entering the device");
}

}  // namespace refarray::runtime
