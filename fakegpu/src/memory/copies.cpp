// Copies and fills of both drivers: pageable memory is staged, everything else is queued.
#include <cstring>

#include "machine/capture.hpp"
#include "machine/driver.hpp"

namespace fakegpu {
namespace {

unsigned char* bytes_at(Handle address) {
  return reinterpret_cast<unsigned char*>(Memory::alias(address));
}

struct Region {  // one side of a 2-D copy
  Handle begin = 0;
  std::size_t pitch = 0;
  bool pageable = false;  // memory unknown to the driver
};

struct Shape {
  std::size_t width = 0;
  std::size_t height = 1;
};

std::uint64_t span(const Region& region, const Shape& shape) {
  return shape.height == 0 ? 0 : (shape.height - 1) * region.pitch + shape.width;
}

int look_up(Call& call, Handle address, Side side, std::size_t pitch, Region& region) {
  const Allocation* allocation = call.machine.memory.find(address);
  region = {address, pitch, allocation == nullptr};
  const bool device = Memory::is_device_address(address);
  if (side == Side::kHost && device) {
    call.violation("device-pointer-as-host", "a device address is passed as host memory", 0,
                   address);
    return kInvalidValue;
  }
  if (allocation == nullptr && (device || side == Side::kDevice)) {
    call.violation("bad-pointer", "no device memory at this address", 0, address);
    return kInvalidValue;
  }
  return kSuccess;
}

void move_rows(unsigned char* to, std::size_t to_pitch, const unsigned char* from,
               std::size_t from_pitch, const Shape& shape) {
  for (std::size_t row = 0; row < shape.height; ++row)
    std::memcpy(to + row * to_pitch, from + row * from_pitch, shape.width);
}

Op::Work staged(const Region& to, const Region& from, const Shape& shape) {
  auto buffer = std::make_shared<std::vector<unsigned char>>(shape.width * shape.height);
  move_rows(buffer->data(), shape.width, bytes_at(from.begin), from.pitch, shape);
  return [to, shape, buffer] {
    move_rows(bytes_at(to.begin), to.pitch, buffer->data(), shape.width, shape);
  };
}

int copy_rows(Call& call, const Region& to, const Region& from, const Shape& shape,
              Handle stream_handle, bool wait) {
  Stream* stream = nullptr;
  if (const int code = find_stream(call, stream_handle, stream)) return code;
  if (shape.width == 0 || shape.height == 0) return kSuccess;
  const bool waits = wait || to.pageable;
  if (waits && stream->capture != nullptr) return refuse_wait(*stream);
  Job job;
  if (from.pageable && !to.pageable && !wait)
    job.run = staged(to, from, shape);
  else
    job.run = [to, from, shape] {
      move_rows(bytes_at(to.begin), to.pitch, bytes_at(from.begin), from.pitch, shape);
    };
  job.touches = {{from.begin, from.begin + span(from, shape), false},
                 {to.begin, to.begin + span(to, shape), true}};
  if (const int code = submit(call, *stream, std::move(job))) return code;
  if (waits) call.wait(call.machine.everything(*stream));
  return kSuccess;
}

}  // namespace

int check_home(Call& call, Handle pointer, const Device& device) {
  const Allocation* allocation = call.machine.memory.find(pointer);
  const bool elsewhere = allocation != nullptr && allocation->kind == MemoryKind::kDevice &&
                         allocation->device != &device;
  if (!elsewhere) return kSuccess;
  call.violation("wrong-device-copy", "a peer copy names another device than the memory's", 0,
                 pointer);
  return kInvalidValue;
}

int copy(Call& call, Handle to, Side to_side, Handle from, Side from_side, std::size_t bytes,
         Handle stream, bool wait) {
  const Plane there{to, bytes};
  const Plane here{from, bytes};
  return copy_2d(call, there, to_side, here, from_side, bytes, 1, stream, wait);
}

int copy_2d(Call& call, const Plane& to, Side to_side, const Plane& from, Side from_side,
            std::size_t width, std::size_t height, Handle stream, bool wait) {
  call.note("pointer", to.base).note("source", from.base).note("bytes", width * height);
  if (height > 1) call.note("rows", height);
  Region to_region;
  Region from_region;
  if (width * height != 0) {
    if (to.pitch < width || from.pitch < width) return kInvalidValue;
    if (const int code = look_up(call, to.base, to_side, to.pitch, to_region)) return code;
    if (const int code = look_up(call, from.base, from_side, from.pitch, from_region)) return code;
  }
  return copy_rows(call, to_region, from_region, {width, height}, stream, wait);
}

int fill(Call& call, Handle pointer, std::uint32_t value, std::size_t unit, std::size_t count,
         Handle stream_handle, bool wait) {
  Stream* stream = nullptr;
  call.note("pointer", pointer).note("bytes", unit * count);
  if (const int code = find_stream(call, stream_handle, stream)) return code;
  if (count == 0) return kSuccess;
  Region region;
  if (const int code = look_up(call, pointer, Side::kDevice, 0, region)) return code;
  if (pointer % unit != 0) return kInvalidValue;
  Job job;
  job.run = [pointer, value, unit, count] {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(bytes_at(pointer) + i * unit, &value, unit);
  };
  job.touches = {{pointer, pointer + unit * count, true}};
  if (const int code = submit(call, *stream, std::move(job))) return code;
  if (wait) call.wait(call.machine.everything(*stream));
  return kSuccess;
}

}  // namespace fakegpu
