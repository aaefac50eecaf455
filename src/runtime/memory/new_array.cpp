// Owns which devices arrays can be on, and new arrays there.
#include "core/error.hpp"
#include "runtime/device_context.hpp"
#include "runtime/memory/device_storage.hpp"
#include "runtime/runtime.hpp"
#include "runtime/streams/pending_work.hpp"

namespace refarray::runtime {
namespace {

/// Sets bytes of a fresh array in the order of the stream, and says so to its storage.
void set_bytes(TrackedStorage& storage, std::byte* to, std::size_t nbytes,
               const StreamPtr& stream) {
  DeviceContext& unit = stream->unit();
  const OnDevice here(unit);
  unit.check(unit.api().set_bytes(reinterpret_cast<Address>(to), 0, nbytes, stream->handle()),
             "clearing memory");
  storage.uses.add(promise(stream, /*writes=*/true));
}

core::Array new_device_array(const core::DType& dtype, core::Extents shape,
                             const core::Device& device, bool zeroed, StreamPtr stream) {
  core::Array out{{}, nullptr, dtype, 0, false, core::c_layout(shape)};
  const std::int64_t nbytes = core::checked_nbytes(core::size_of(shape), dtype);
  if (stream == nullptr) stream = current_stream_of(unit_of(device));
  out.storage = new_device_storage(device, nbytes, stream);
  out.data = out.storage->data();
  if (nbytes == 0) return out;
  // The bits after the last packed element are nobody's; they are 0, so that equal arrays have
  // equal bytes.
  const auto size = static_cast<std::size_t>(nbytes);
  if (zeroed) {
    set_bytes(*tracked(out.storage.get()), out.data, size, stream);
  } else if (dtype.is_packed()) {
    set_bytes(*tracked(out.storage.get()), out.data + size - 1, 1, stream);
  }
  return out;
}

}  // namespace

void open(const core::Device& device) noexcept {
  if (is_open(device)) return;
  try {  // boundary: whoever needs the device is told why not
    DeviceContext& unit = unit_of(device);
    const OnDevice here(unit);  // the first time makes what the device needs in this process
    unit.is_ready.store(true, std::memory_order_release);
  } catch (const std::exception&) {  // boundary: as above
  }
}

bool is_open(const core::Device& device) noexcept {
  if (device.kind == core::DeviceKind::kCpu || is_forked()) return true;
  const Driver* driver = loaded_driver(vendor_of(device.kind));
  if (driver == nullptr) return false;
  if (device.id < 0 || device.id >= static_cast<int>(driver->units.size())) return true;
  return driver->unit(device.id).is_ready.load(std::memory_order_acquire);
}

bool can_allocate(const core::Device& device) noexcept {
  if (device == core::Device{}) return true;
  try {  // boundary: whoever only asks gets an answer
    unit_of(device);
    return true;
  } catch (const std::exception&) {  // boundary: as above
    return false;
  }
}

void require(const core::Device& device) {
  if (device == core::Device{}) return;
  if (device.kind == core::DeviceKind::kCpu) {
    core::fail(core::Fault::kBuffer, "device ", core::name(device),
               " is not there: the CPU is one device, cpu");
  }
  unit_of(device);
}

core::Array new_array(const core::DType& dtype, core::Extents shape, const core::Device& device,
                      bool zeroed, const StreamPtr& stream) {
  if (device == core::Device{}) return core::new_array(dtype, shape, zeroed);
  require(device);
  return new_device_array(dtype, shape, device, zeroed, stream);
}

}  // namespace refarray::runtime
