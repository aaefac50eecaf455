// Owns the drivers of the process: loading each once, what their failures are called, and what
// becomes of them in a forked child.
#include "runtime/drivers/driver.hpp"

#include <pthread.h>

#include <array>
#include <mutex>

#include "core/error.hpp"
#include "runtime/device_context.hpp"
#include "runtime/drivers/load.hpp"
#include "runtime/runtime.hpp"

namespace refarray::runtime {
namespace {

struct Place {
  std::mutex lock;
  std::atomic<Driver*> driver{nullptr};
  std::string why;                   // under the lock
  std::string library;               // likewise
  std::string chosen;                // likewise: what the environment named when it was asked
  bool found = false;                // likewise
  bool asked = false;                // likewise
  bool retriable = false;            // likewise
  unsigned long long libraries = 0;  // likewise: loaded_libraries() when it was asked last
};

/// Never destroyed: arrays may outlive every static object.
Place& place_of(Vendor vendor) {
  static auto& places = *new std::array<Place, 2>;
  return places[static_cast<std::size_t>(vendor)];
}

constinit std::atomic<bool> forked{false};
constinit std::atomic<bool> initialised{false};
constinit std::atomic<int> asking{0};

/// In the child of a fork the driver's threads are gone and its handles are the parent's; where
/// another thread was asking, a lock is held by nobody. A driver that cannot be used is neither.
void after_fork() noexcept {
  if (initialised.load(std::memory_order_relaxed) || asking.load(std::memory_order_relaxed) > 0) {
    forked.store(true, std::memory_order_relaxed);
  }
}

/// Counts the threads that hold a place or wait for one, for the child of a fork in the meantime.
struct Counted {
  Counted() noexcept {
    // Once, and before the driver's own threads are there.
    static const int registered = pthread_atfork(nullptr, nullptr, &after_fork);
    static_cast<void>(registered);
    asking.fetch_add(1, std::memory_order_relaxed);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { asking.fetch_sub(1, std::memory_order_relaxed); }
};

/// Holds a place: counted before it is locked, and until after it is unlocked.
class Hold {
 public:
  explicit Hold(Place& place) : guard_(place.lock) {}

 private:
  Counted counted_;
  std::lock_guard<std::mutex> guard_;
};

constexpr const char* kForked =
    "this process was forked after the GPU driver had been initialised, and a driver does not "
    "survive a fork; start worker processes with the 'spawn' or 'forkserver' method";

Driver* make_driver(Vendor vendor, const Loaded& loaded) {
  auto* driver = new Driver(vendor);  // for the life of the process
  driver->api = loaded.api;
  driver->version = loaded.version;
  driver->library = loaded.library;
  for (int id = 0; id < loaded.devices; ++id) {
    int pools = 0;
    const bool known = driver->api.has_pools(&pools, id) == kSuccess;
    driver->units.push_back(std::make_unique<DeviceContext>(*driver, id, known && pools != 0));
  }
  return driver;
}

/// Under the place's lock.
void load(Vendor vendor, Place& place) {
  const unsigned long long libraries = loaded_libraries();
  const std::string chosen = chosen_library(static_cast<int>(vendor));
  const bool changed = chosen != place.chosen || (place.retriable && libraries != place.libraries);
  if (place.asked && !changed) return;
  Loaded loaded = vendor == Vendor::kCuda ? load_cuda() : load_hip();
  place.asked = true;
  place.chosen = chosen;
  place.libraries = loaded_libraries();
  place.retriable = loaded.retriable;
  place.why = loaded.why;
  place.library = loaded.library;
  place.found = loaded.found;
  if (!loaded.why.empty()) return;
  initialised.store(true, std::memory_order_relaxed);
  place.driver.store(make_driver(vendor, loaded), std::memory_order_release);
}

}  // namespace

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

Driver* loaded_driver(Vendor vendor) noexcept {
  return is_forked() ? nullptr : place_of(vendor).driver.load(std::memory_order_acquire);
}

Driver* find_driver(Vendor vendor, std::string* why) {
  if (is_forked()) {
    if (why != nullptr) *why = kForked;
    return nullptr;
  }
  Place& place = place_of(vendor);
  if (Driver* driver = place.driver.load(std::memory_order_acquire)) return driver;
  const Hold hold(place);
  if (Driver* driver = place.driver.load(std::memory_order_acquire)) return driver;
  load(vendor, place);
  if (why != nullptr) *why = place.why;
  return place.driver.load(std::memory_order_acquire);
}

DeviceContext& unit_of(const core::Device& device) {
  std::string why;
  Driver* driver = find_driver(vendor_of(device.kind), &why);
  if (driver == nullptr) {
    core::fail(core::Fault::kBuffer, "device ", core::name(device), " cannot be used: ", why,
               "; `refarray doctor` tells more");
  }
  const auto count = static_cast<int>(driver->units.size());
  const bool numbered =
      device.kind == core::DeviceKind::kCuda || device.kind == core::DeviceKind::kRocm;
  if (device.id < 0 || device.id >= (numbered ? count : 1)) {
    core::fail(core::Fault::kBuffer, "device ", core::name(device), " is not there: ",
               numbered
                   ? core::text(driver->name(), " counts ", count, " device", count == 1 ? "" : "s")
                   : core::text("memory of this kind has the number 0 only"));
  }
  return driver->unit(device.id);
}

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

OnDevice::OnDevice(const DeviceContext& unit) : driver_(unit.driver) {
  driver_.check(driver_.api.enter(unit.id, &before_), "entering the device");
}
OnDevice::~OnDevice() { driver_.api.leave(before_); }

TryOnDevice::TryOnDevice(const DeviceContext& unit) noexcept
    : driver_(unit.driver), entered_(driver_.api.enter(unit.id, &before_) == kSuccess) {}
TryOnDevice::~TryOnDevice() {
  if (entered_) driver_.api.leave(before_);
}

std::vector<DriverReport> probe_drivers() {
  std::vector<DriverReport> reports;
  for (const Vendor vendor : {Vendor::kCuda, Vendor::kHip}) {
    std::string why;
    const Driver* driver = find_driver(vendor, &why);
    DriverReport report{vendor == Vendor::kCuda ? "CUDA" : "ROCm", {}, driver != nullptr, -1, why};
    if (!is_forked()) {  // else nobody may ever let go of the place again
      Place& place = place_of(vendor);
      const Hold hold(place);
      report.library = place.library;
      report.found = place.found;
    }
    if (driver != nullptr) report.devices = static_cast<int>(driver->units.size());
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace refarray::runtime
