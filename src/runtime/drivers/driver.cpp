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

DeviceGuard::DeviceGuard(const DeviceContext& context) : driver_(context.driver) {
  driver_.check(driver_.api.enter(context.id, &before_), "entering the device");
}
DeviceGuard::~DeviceGuard() { driver_.api.leave(before_); }

TryDeviceGuard::TryDeviceGuard(const DeviceContext& context) noexcept
    : driver_(context.driver), entered_(driver_.api.enter(context.id, &before_) == kSuccess) {}
TryDeviceGuard::~TryDeviceGuard() {
  if (entered_) driver_.api.leave(before_);
}

}  // namespace refarray::runtime
