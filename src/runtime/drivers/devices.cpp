// Loads each vendor's driver once per process, and disables drivers in forked children. Looks up
// the context of a device, initialising it on first use.
#include "runtime/drivers/devices.hpp"

#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>

#include "core/error.hpp"
#include "runtime/device_context.hpp"
#include "runtime/drivers/at_fork.hpp"
#include "runtime/drivers/driver.hpp"
#include "runtime/drivers/load.hpp"

namespace refarray::runtime {
namespace {

/// One vendor's driver, or the reason why there is none.
struct DriverSlot {
  std::mutex lock;
  std::string why;
  std::string library;
  std::string chosen_file;  // the environment variable's value at the last attempt
  bool found = false;
  bool tried = false;
  bool retriable = false;
  unsigned long long libraries = 0;  // loaded_libraries() at the last attempt
};

/// Never destroyed: arrays may outlive every static object.
DriverSlot& slot_of(Vendor vendor) {
  static auto& slots = *new std::array<DriverSlot, 2>;
  return slots[static_cast<std::size_t>(vendor)];
}

constinit std::atomic<bool> initialised{false};
constinit std::atomic<int> loaders{0};  // threads that hold a slot's lock or wait for it

/// atfork handler of the child. An initialised driver's threads do not exist in the child and its
/// handles belong to the parent. If another thread was loading, its lock will never be released.
void after_fork() noexcept {
  if (initialised.load(std::memory_order_relaxed) || loaders.load(std::memory_order_relaxed) > 0) {
    detail::forked.store(true, std::memory_order_relaxed);
  }
}

/// Counts this thread in `loaders`.
struct LoaderCount {
  LoaderCount() noexcept {
    // Registered once, before a driver can start threads of its own.
    static const bool registered = (call_in_forked_children(&after_fork), true);
    static_cast<void>(registered);
    loaders.fetch_add(1, std::memory_order_relaxed);
  }
  LoaderCount(const LoaderCount&) = delete;
  LoaderCount& operator=(const LoaderCount&) = delete;
  ~LoaderCount() { loaders.fetch_sub(1, std::memory_order_relaxed); }
};

/// Locks a slot. The member order matters: the thread is counted before it locks, and until after
/// it has unlocked.
class SlotLock {
 public:
  explicit SlotLock(DriverSlot& slot) : guard_(slot.lock) {}

 private:
  LoaderCount count_;
  std::lock_guard<std::mutex> guard_;
};

constexpr const char* kForked =
    "this process was forked after the GPU driver had been initialised, and a driver does not "
    "survive a fork; start worker processes with the 'spawn' or 'forkserver' method";

Driver* make_driver(Vendor vendor, const LoadedDriver& loaded) {
  auto* driver = new Driver(vendor);  // never destroyed
  driver->api = loaded.api;
  for (int id = 0; id < loaded.devices; ++id) {
    DeviceTraits traits;  // none, if the query fails
    driver->api.traits(&traits, id);
    driver->contexts.push_back(std::make_unique<DeviceContext>(*driver, id, traits));
  }
  return driver;
}

/// Tries again only if that can change the result: another file was chosen, or no library was found
/// and the process has loaded more libraries since. The slot is locked.
void load(Vendor vendor, DriverSlot& slot) {
  const unsigned long long libraries = loaded_libraries();
  const std::string chosen_file = chosen_library(vendor);
  const bool changed =
      chosen_file != slot.chosen_file || (slot.retriable && libraries != slot.libraries);
  if (slot.tried && !changed) return;
  const LoadedDriver loaded = vendor == Vendor::kCuda ? load_cuda() : load_hip();
  slot.tried = true;
  slot.chosen_file = chosen_file;
  slot.libraries = loaded_libraries();
  slot.retriable = loaded.retriable;
  slot.why = loaded.why;
  slot.library = loaded.library;
  slot.found = loaded.found;
  if (!loaded.why.empty()) return;
  initialised.store(true, std::memory_order_relaxed);
  detail::driver_of(vendor).store(make_driver(vendor, loaded), std::memory_order_release);
}

}  // namespace

constinit std::atomic<bool> detail::forked{false};
constinit std::array<std::atomic<Driver*>, 2> detail::drivers{};

Driver* find_driver(Vendor vendor, std::string* why) {
  if (is_forked()) {
    if (why != nullptr) *why = kForked;
    return nullptr;
  }
  if (Driver* driver = loaded_driver(vendor)) return driver;
  DriverSlot& slot = slot_of(vendor);
  const SlotLock lock(slot);
  if (Driver* driver = loaded_driver(vendor)) return driver;
  load(vendor, slot);
  if (why != nullptr) *why = slot.why;
  return loaded_driver(vendor);
}

std::vector<DriverReport> probe_drivers() {
  std::vector<DriverReport> reports;
  for (const Vendor vendor : {Vendor::kCuda, Vendor::kHip}) {
    std::string why;
    const Driver* driver = find_driver(vendor, &why);
    DriverReport report{vendor_name(vendor), {}, driver != nullptr, -1, why};
    if (!is_forked()) {  // in a forked child the lock may never be released
      DriverSlot& slot = slot_of(vendor);
      const SlotLock lock(slot);
      report.library = slot.library;
      report.found = slot.found;
    }
    if (driver != nullptr) report.devices = static_cast<int>(driver->contexts.size());
    reports.push_back(std::move(report));
  }
  return reports;
}

void open(const core::Device& device) noexcept {
  if (is_open(device)) return;
  try {  // boundary: the operation that needs the device reports the failure
    DeviceContext& context = context_of(device);
    const DeviceGuard on_device(context);  // the first one initialises the device
    context.is_ready.store(true, std::memory_order_release);
  } catch (const std::exception&) {
  }
}

bool is_open(const core::Device& device) noexcept {
  if (device.kind == core::DeviceKind::kCpu || is_forked()) return true;
  const Driver* driver = loaded_driver(vendor_of(device.kind));
  if (driver == nullptr) return false;
  if (device.id < 0 || device.id >= static_cast<int>(driver->contexts.size())) return true;
  return driver->context(device.id).is_ready.load(std::memory_order_acquire);
}

DeviceContext& context_for_lookup(DeviceContext& preferred) noexcept {
  const DriverTable& api = preferred.api();
  if (api.is_active == nullptr) return preferred;
  const auto is_active = [&api](const DeviceContext& context) {
    if (context.is_ready.load(std::memory_order_acquire)) return true;
    int active = 0;
    return api.is_active(context.id, &active) == kSuccess && active != 0;
  };
  if (is_active(preferred)) return preferred;
  for (const auto& context : preferred.driver.contexts) {
    if (is_active(*context)) return *context;
  }
  return preferred;
}

void open_for_lookup(const core::Device& labelled) noexcept {
  if (is_open(labelled)) return;
  try {  // boundary: the import reports the failure
    const DeviceContext& context = context_for_lookup(context_of(labelled));
    open({labelled.kind, context.id});
  } catch (const std::exception&) {
  }
}

bool can_allocate(const core::Device& device) noexcept {
  if (device == core::Device{}) return true;
  try {  // boundary: the caller asks yes or no
    context_of(device);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void require(const core::Device& device) {
  if (device == core::Device{}) return;
  if (device.kind == core::DeviceKind::kCpu) {
    core::fail(core::Fault::kBuffer, "device ", core::name(device),
               " does not exist: the only CPU device is cpu");
  }
  context_of(device);
}

DeviceContext& context_of(const core::Device& device) {
  std::string why;
  Driver* driver = find_driver(vendor_of(device.kind), &why);
  if (driver == nullptr) {
    core::fail(core::Fault::kBuffer, "device ", core::name(device), " cannot be used: ", why,
               "; run `refarray doctor` for details");
  }
  const auto count = static_cast<int>(driver->contexts.size());
  const bool numbered =
      device.kind == core::DeviceKind::kCuda || device.kind == core::DeviceKind::kRocm;
  if (device.id < 0 || device.id >= (numbered ? count : 1)) {
    core::fail(core::Fault::kBuffer, "device ", core::name(device), " does not exist: ",
               numbered
                   ? core::text(driver->name(), " has ", count, " device", count == 1 ? "" : "s")
                   : core::text("memory of this kind has only device number 0"));
  }
  return driver->context(device.id);
}

}  // namespace refarray::runtime
