// Memory that processes share, of both drivers: allocations with a file, ranges of addresses, and
// mappings of one into the other. The driver counts nothing itself: the system frees the file when
// its last descriptor and mapping are gone, of whichever process.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "machine/driver.hpp"
#include "machine/room.hpp"
#include "memory/history.hpp"

namespace fakegpu {
namespace {

constexpr std::uint64_t kMagic = 0x314D4D5655504746;  // "FGPUVMM1"
constexpr std::size_t kGranularity = std::size_t{2} << 20;
constexpr int kFirstHip = 60200000;  // that exports memory
constexpr int kPinnedType = 1;
constexpr int kDeviceLocation = 1;
constexpr int kReadWrite = 3;

bool is_multiple(std::size_t bytes) { return bytes != 0 && bytes % kGranularity == 0; }

int find_physical(Call& call, Handle handle, Physical*& out) {
  call.note("allocation", handle);
  out = call.machine.physical.alive(handle);
  if (out != nullptr && out->device->vendor == call.vendor) return kSuccess;
  call.violation("bad-handle", "no such allocation handle, or it has been released", 0, handle);
  return kInvalidValue;
}

/// Closes the file when neither a handle nor a mapping is left.
void drop(Machine& machine, Physical& physical) {
  if (physical.references > 0 || physical.mappings > 0) return;
  close(physical.file);
  if (physical.created) physical.device->used -= physical.bytes;
  machine.physical.retire(physical);
}

Physical& add_physical(Call& call, int file, Device& device, std::size_t bytes, bool created) {
  Physical& physical = *call.machine.physical.add();
  physical.device = &device;
  physical.file = file;
  physical.bytes = bytes;
  physical.references = 1;
  physical.created = created;
  if (created) device.used += bytes;
  call.note("allocation", physical.handle).note("bytes", bytes);
  return physical;
}

SharedBook* map_book(int file, std::size_t bytes) {
  void* at = mmap(nullptr, sizeof(SharedBook), PROT_READ | PROT_WRITE, MAP_SHARED, file,
                  static_cast<off_t>(bytes));
  return at == MAP_FAILED ? nullptr : static_cast<SharedBook*>(at);
}

/// A file with room for the bytes, and the book after them; -1 if the system has no memory.
int new_file(const SharedBook& book) {
  const int file = memfd_create("fakegpu-shareable", MFD_CLOEXEC);
  const auto at = static_cast<off_t>(book.bytes);
  constexpr auto size = static_cast<off_t>(sizeof(SharedBook));
  if (file >= 0 && ftruncate(file, at + size) == 0 && pwrite(file, &book, size, at) == size)
    return file;
  if (file >= 0) close(file);
  return -1;
}

/// The live mapping that begins at the address.
Allocation* mapping_at(Call& call, Handle address) {
  call.note("pointer", address);
  Allocation* found = call.machine.memory.find(address);
  const bool is_mapping = found != nullptr && !found->freed && found->physical != nullptr;
  return is_mapping ? found : nullptr;
}

AddressRange* range_of(Call& call, Handle address, std::size_t bytes) {
  for (AddressRange& range : call.machine.ranges)
    if (address >= range.begin && address + bytes <= range.begin + range.bytes) return &range;
  return nullptr;
}

bool is_mapped(Call& call, const AddressRange& range) {
  const auto all = call.machine.memory.alive();
  return std::ranges::any_of(all, [&](const Allocation* one) {
    return one->begin >= range.begin && one->begin < range.begin + range.bytes;
  });
}

/// What a descriptor is of, or the status why it is nothing.
int read_book(Call& call, int file, SharedBook& out) {
  struct stat facts{};
  const auto after = static_cast<off_t>(sizeof out);
  if (fstat(file, &facts) != 0 || facts.st_size <= after) return kInvalidValue;
  if (pread(file, &out, sizeof out, facts.st_size - after) != after) return kInvalidValue;
  const bool is_ours = out.magic == kMagic && out.vendor == static_cast<unsigned>(call.vendor);
  return is_ours && static_cast<off_t>(out.bytes) + after == facts.st_size ? kSuccess
                                                                           : kInvalidValue;
}

}  // namespace

int granularity(Call& call, std::size_t* out, const AllocationProperties* of) {
  if (out == nullptr || of == nullptr) return kInvalidValue;
  if (call.machine.device(call.vendor, of->location_id) == nullptr) return kInvalidDevice;
  *out = kGranularity;
  return kSuccess;
}

int physical_create(Call& call, Handle* out, std::size_t bytes, const AllocationProperties* of) {
  if (out == nullptr || of == nullptr || !is_multiple(bytes)) return kInvalidValue;
  if (of->type != kPinnedType || of->location_type != kDeviceLocation) return kInvalidValue;
  if (of->handle_types != 0 && of->handle_types != kFileHandle) return kNotSupported;
  Device* device = nullptr;
  if (const int code = find_device(call, of->location_id, device)) return code;
  const Settings& settings = call.machine.settings;
  const bool is_old_hip = call.vendor == Vendor::kHip && settings.hip_version < kFirstHip;
  if (!settings.shareable || is_old_hip) return kNotSupported;
  if (bytes > device->total - device->used) return kOutOfMemory;
  const int file = new_file({kMagic,
                             bytes,
                             static_cast<unsigned>(call.vendor),
                             static_cast<unsigned>(device->ordinal),
                             0,
                             {}});
  if (file < 0) return kOutOfMemory;
  Physical& physical = add_physical(call, file, *device, bytes, true);
  physical.can_export = of->handle_types != 0;
  *out = physical.handle;
  return kSuccess;
}

int physical_properties(Call& call, AllocationProperties* out, Handle handle) {
  Physical* physical = nullptr;
  if (const int code = find_physical(call, handle, physical)) return code;
  if (out == nullptr) return kInvalidValue;
  *out = {kPinnedType,     physical->can_export ? kFileHandle : 0,
          kDeviceLocation, physical->device->ordinal,
          nullptr,         {}};
  return kSuccess;
}

int physical_release(Call& call, Handle handle) {
  Physical* physical = nullptr;
  if (const int code = find_physical(call, handle, physical)) return code;
  if (physical->references == 0) return kInvalidValue;
  --physical->references;
  drop(call.machine, *physical);
  return kSuccess;
}

int physical_retain(Call& call, Handle* out, Handle address) {
  const Allocation* mapping = mapping_at(call, address);
  if (mapping == nullptr || out == nullptr) return kInvalidValue;
  ++mapping->physical->references;
  *out = mapping->physical->handle;
  return kSuccess;
}

int physical_export(Call& call, int* out, Handle handle, int type) {
  Physical* physical = nullptr;
  if (const int code = find_physical(call, handle, physical)) return code;
  if (out == nullptr || type != kFileHandle || !physical->can_export) return kInvalidValue;
  if (Room::get() == nullptr) return kNotSupported;  // nobody would see the other process's work
  *out = fcntl(physical->file, F_DUPFD_CLOEXEC, 0);
  return *out < 0 ? kOutOfMemory : kSuccess;
}

int physical_import(Call& call, Handle* out, int file, int type) {
  if (out == nullptr || type != kFileHandle) return kInvalidValue;
  SharedBook book{};
  if (const int code = read_book(call, file, book)) return code;
  Device* device = nullptr;
  if (const int code = find_device(call, static_cast<int>(book.ordinal), device)) return code;
  const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return kOutOfMemory;
  Physical& physical = add_physical(call, own, *device, book.bytes, false);
  physical.can_export = true;
  *out = physical.handle;
  return kSuccess;
}

int address_reserve(Call& call, Handle* out, std::size_t bytes) {
  if (out == nullptr || !is_multiple(bytes)) return kInvalidValue;
  const std::uint64_t begin = Memory::reserve(bytes, kGranularity);
  if (begin == 0) return kOutOfMemory;
  call.machine.ranges.push_back({begin, bytes});
  *out = begin;
  call.note("pointer", begin).note("bytes", bytes);
  return kSuccess;
}

int address_free(Call& call, Handle address, std::size_t bytes) {
  AddressRange* range = range_of(call.note("pointer", address), address, bytes);
  if (range == nullptr || range->begin != address || range->bytes != bytes) return kInvalidValue;
  if (is_mapped(call, *range)) return kInvalidValue;
  std::erase_if(call.machine.ranges, [&](const AddressRange& one) { return one.begin == address; });
  return kSuccess;
}

int memory_map(Call& call, Handle address, std::size_t bytes, std::size_t offset, Handle handle) {
  Physical* physical = nullptr;
  if (const int code = find_physical(call, handle, physical)) return code;
  const AddressRange* range = range_of(call.note("pointer", address), address, bytes);
  if (range == nullptr || is_mapped(call, *range)) return kInvalidValue;
  if (!is_multiple(bytes) || offset != 0 || bytes != physical->bytes) return kInvalidValue;
  SharedBook* book = map_book(physical->file, bytes);
  if (book == nullptr) return kOutOfMemory;
  if (!Memory::map_file(address, bytes, physical->file)) {
    munmap(book, sizeof(SharedBook));
    return kOutOfMemory;
  }
  Allocation* mapping = call.machine.memory.add_mapping(address, bytes, physical->device);
  mapping->book = book;
  mapping->physical = physical;
  ++physical->mappings;
  return kSuccess;
}

int memory_set_access(Call& call, Handle address, std::size_t bytes, const MemoryAccess* access,
                      std::size_t count) {
  Allocation* mapping = mapping_at(call, address);
  if (mapping == nullptr || access == nullptr || bytes != mapping->bytes) return kInvalidValue;
  for (std::size_t i = 0; i < count; ++i) {
    if (access[i].location_type != kDeviceLocation) return kInvalidValue;
    if (call.machine.device(call.vendor, access[i].location_id) == nullptr) return kInvalidDevice;
    if (access[i].flags == kReadWrite)
      mapping->usable_on.insert(access[i].location_id);
    else
      mapping->usable_on.erase(access[i].location_id);
  }
  return kSuccess;
}

int memory_unmap(Call& call, Handle address, std::size_t bytes) {
  Allocation* mapping = mapping_at(call, address);
  if (mapping == nullptr || mapping->begin != address || mapping->bytes != bytes)
    return kInvalidValue;
  check_free(call, accessor_of_host(call), *mapping);
  mapping->freed = true;
  Memory::unmap_file(address, bytes);
  munmap(mapping->book, sizeof(SharedBook));
  mapping->book = nullptr;
  --mapping->physical->mappings;
  drop(call.machine, *mapping->physical);
  return kSuccess;
}

SharedHistory::SharedHistory(Allocation& allocation) : allocation_(allocation) {
  if (allocation.book == nullptr) return;
  allocation.history.clear();
  const Room::Lock lock(*Room::get());
  const SharedBook& book = *allocation.book;
  const auto own = static_cast<std::uint32_t>(getpid());
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(book.count, SharedBook::kEntries); ++i) {
    const SharedBook::Entry& one = book.entries[i];
    if (one.process != own && Room::has_ended(static_cast<pid_t>(one.process))) continue;
    allocation.history.push_back({allocation.begin + one.begin, allocation.begin + one.end,
                                  one.kind, Moment{one.component, one.time}, one.call,
                                  one.process == own ? 0 : one.process});
  }
}

/// Of more accesses than there is place for, the oldest are forgotten.
SharedHistory::~SharedHistory() {
  if (allocation_.book == nullptr) return;
  const Room::Lock lock(*Room::get());
  SharedBook& book = *allocation_.book;
  const std::vector<Access>& all = allocation_.history;
  book.count = std::min(all.size(), SharedBook::kEntries);
  const auto own = static_cast<std::uint32_t>(getpid());
  for (std::size_t i = 0; i < book.count; ++i) {
    const Access& one = all[all.size() - book.count + i];
    book.entries[i] = {one.begin - allocation_.begin,
                       one.end - allocation_.begin,
                       one.kind,
                       static_cast<std::uint32_t>(one.moment.component),
                       one.moment.time,
                       one.process == 0 ? own : one.process,
                       one.call};
  }
}

}  // namespace fakegpu
