// Loading a vendor's driver: a filled DriverTable, or the reason why there is none.
#pragma once

#include <string>

#include "core/error.hpp"
#include "runtime/drivers/driver_table.hpp"
#include "runtime/drivers/library.hpp"

namespace refarray::runtime {

struct LoadedDriver {
  DriverTable api;
  std::string library;     // the file that was opened, or the last one tried
  std::string why;         // why the driver cannot be used; empty if it can
  bool found = false;      // the library was opened and has every function we need
  int version = 0;         // 12020 is CUDA 12.2; 50221153 is HIP 5.2.21153
  int devices = -1;        // -1: could not be queried
  bool retriable = false;  // no library was found; a package imported later may bring one
};

/// Opens the library, resolves its functions, initialises it and counts its devices. Not to be
/// called again after success. Not thread-safe.
LoadedDriver load_cuda();
LoadedDriver load_hip();

// The parts of cuda.cpp and hip.cpp that do not depend on the vendor.

/// The address of a function pointer in Calls, for a table of symbols.
template <class F>
void** slot(F*& function) noexcept {
  return reinterpret_cast<void**>(&function);
}

/// Memory and streams: the entries whose functions have the same signature in both libraries. The
/// rest of the table needs adapters, which each vendor's file fills in.
template <class Calls>
DriverTable common_table(const Calls& calls) noexcept {
  DriverTable api;
  api.allocate = calls.allocate;
  api.free = calls.free;
  api.stream_create = calls.stream_create;
  api.stream_destroy = calls.stream_destroy;
  api.stream_synchronize = calls.stream_synchronize;
  api.stream_query = calls.stream_query;
  api.stream_wait = calls.stream_wait;
  api.exchange_capture_mode = calls.exchange_capture_mode;
  api.event_create = calls.event_create;
  api.event_destroy = calls.event_destroy;
  api.event_record = calls.event_record;
  api.event_query = calls.event_query;
  api.event_synchronize = calls.event_synchronize;
  api.event_elapsed = calls.event_elapsed;
  api.module_load = calls.module_load;
  api.module_function = calls.module_function;
  api.launch = calls.launch;
  return api;
}

/// stream_capture. Of the two queries only the first is documented to leave a capture alone that
/// forbids the legacy default stream.
template <const auto& kCalls>
Status stream_capture(Handle stream, int* state, unsigned long long* id) {
  *id = 0;
  const Status status = kCalls.stream_is_capturing(stream, state);
  if (status != kSuccess || *state != kCaptureStatusActive) return status;
  return kCalls.stream_capture(stream, state, id);
}

/// allocate_host and free_host: the libraries take pointers and a flag for portable memory.
template <const auto& kCalls, unsigned kPortable>
Status allocate_pinned(Address* out, std::size_t nbytes) {
  void* address = nullptr;
  const Status status = kCalls.allocate_host(&address, nbytes, kPortable);
  *out = reinterpret_cast<Address>(address);
  return status;
}
template <const auto& kCalls>
Status free_pinned(Address address) {
  return kCalls.free_host(reinterpret_cast<void*>(address));
}

/// The result so far, after the search for the library.
inline LoadedDriver loaded_from(const Library& library) {
  LoadedDriver out;
  out.library = library.file;
  out.why = library.why;
  out.retriable = library.handle == nullptr;
  return out;
}

/// Queries the version and the number of devices. `count_name` is the counting function's name and
/// `advice` explains a status, for the message.
template <class Advice>
void count_devices(LoadedDriver& out, Status (*version)(int*), Status (*count)(int*),
                   const char* count_name, Advice advice) {
  Status status = version(&out.version);
  int devices = 0;
  if (status == kSuccess) status = count(&devices);
  if (status != kSuccess) {
    out.why = core::text(count_name, " returned ", status, advice(status));
    return;
  }
  out.devices = devices;
  if (devices == 0) out.why = "the driver reports no device";
}

}  // namespace refarray::runtime
