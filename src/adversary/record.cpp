// Owns the memory of hostile managed tensors: where their structs lie, when it is poisoned, and the
// registry.
#include "record.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace adversary {
namespace {

constexpr int kPoison = 0xDD;
constexpr std::size_t kWithPages = 4000;  // records that keep them: mappings are limited
constexpr std::size_t kAlignment = 256;   // what dlpack.h asks of `data`

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<Record>> records;
  std::unordered_map<const void*, Record*> by_address;
};

/// Never destroyed: deleters run after static destructors too. Reachable, so no leak checker
/// reports it.
Registry& registry() {
  static Registry& it = *new Registry;
  return it;
}

extern "C" void delete_versioned(DLManagedTensorVersioned* self) { Record::deleted(self); }
extern "C" void delete_legacy(DLManagedTensor* self) { Record::deleted(self); }

/// Row-major strides of any shape; unsigned, because hostile extents overflow.
Entries row_major(const Entries& shape) {
  Entries out;
  if (!shape.values) return out;
  out.values.emplace(shape.values->size());
  std::uint64_t step = 1;
  for (std::size_t i = shape.values->size(); i-- > 0;) {
    (*out.values)[i] = static_cast<std::int64_t>(step);
    step *= static_cast<std::uint64_t>((*shape.values)[i]);
  }
  return out;
}

}  // namespace

Pages::Pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t used = (bytes + page - 1) / page * page;
  void* base =
      ::mmap(nullptr, used + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<std::byte*>(base);
  end_ = begin_ + used;
  if (::mprotect(end_, page, PROT_NONE) != 0) throw std::runtime_error("mprotect failed");
}

void Pages::freeze(bool on) const {
  const int protection = on ? PROT_READ : PROT_READ | PROT_WRITE;
  const auto size = static_cast<std::size_t>(end_ - begin_);
  if (::mprotect(begin_, size, protection) != 0) throw std::runtime_error("mprotect failed");
}

void Pages::unmap() const noexcept {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  ::munmap(begin_, static_cast<std::size_t>(end_ - begin_) + page);
}

Record& Record::make(Spec spec) {
  std::unique_ptr<Record> made(new Record(std::move(spec)));
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  Record& out = *all.records.emplace_back(std::move(made));
  all.by_address.emplace(out.struct_, &out);
  if (all.records.size() > kWithPages) all.records[all.records.size() - kWithPages]->retire();
  return out;
}

std::vector<Record*> Record::since(std::size_t first) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<Record*> out;
  for (std::size_t i = first; i < all.records.size(); ++i) out.push_back(all.records[i].get());
  return out;
}

std::size_t Record::count() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return all.records.size();
}

void Record::deleted(const void* managed) noexcept {
  Record* record = nullptr;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    record = all.by_address.at(managed);  // another address is memory corruption: terminate
  }
  if (record->calls_.fetch_add(1) != 0) return;
  record->poison();
  if (record->hook) record->hook();
}

Record::Record(Spec spec) : spec_(std::move(spec)) {
  if (spec_.unmapped_body && !spec_.versioned) {
    throw std::invalid_argument("only the versioned struct has a body that may be foreign");
  }
  if (spec_.bytes) {
    void* raw = ::operator new(spec_.bytes->size() + 1, std::align_val_t{kAlignment});
    std::memcpy(raw, spec_.bytes->data(), spec_.bytes->size());
    data_ = static_cast<std::byte*>(raw);
  }
  if (!spec_.strides) spec_.strides = row_major(spec_.shape);
  shape_ = place(spec_.shape, shape_heap_);
  strides_ = place(*spec_.strides, strides_heap_);
  if (spec_.unmapped_body) {
    struct_ = pages_.emplace_back(sizeof(DLManagedTensorVersioned))
                  .last(offsetof(DLManagedTensorVersioned, dl_tensor));
  } else if (spec_.frozen) {
    struct_ = pages_.emplace_back(sizeof in_place_).last(sizeof in_place_);
  } else {
    struct_ = in_place_;
  }
  write_struct();
  if (spec_.frozen) {
    for (const Pages& pages : pages_) pages.freeze(true);
    for (const Pages& pages : entries_) pages.freeze(true);
  }
}

/// Long after its deleter ran: whoever reads the shape now faults.
void Record::retire() noexcept {
  if (calls_.load() == 0) return;
  for (const Pages& pages : entries_) pages.unmap();
  entries_.clear();
}

std::int64_t* Record::place(const Entries& entries, std::unique_ptr<std::int64_t[]>& heap) {
  if (!entries.values) return reinterpret_cast<std::int64_t*>(entries.address);
  const std::size_t bytes = entries.values->size() * sizeof(std::int64_t);
  std::int64_t* out = nullptr;
  if (spec_.guarded || spec_.frozen) {
    out = reinterpret_cast<std::int64_t*>(entries_.emplace_back(bytes + 1).last(bytes));
  } else {
    heap = std::make_unique<std::int64_t[]>(entries.values->size() + 1);
    out = heap.get();
  }
  if (bytes != 0) std::memcpy(out, entries.values->data(), bytes);
  return out;
}

DLTensor Record::described() const noexcept {
  DLTensor out{};
  out.data = data_ == nullptr ? reinterpret_cast<void*>(spec_.address) : data_ + spec_.data_offset;
  std::memcpy(&out.device.device_type, &spec_.device_type, sizeof spec_.device_type);
  out.device.device_id = spec_.device_id;
  const std::size_t entries = spec_.shape.values ? spec_.shape.values->size() : 0;
  out.ndim = spec_.ndim.value_or(static_cast<std::int32_t>(entries));
  out.dtype = spec_.dtype;
  out.shape = shape_;
  out.strides = strides_;
  out.byte_offset = spec_.byte_offset;
  return out;
}

void Record::write_struct() noexcept {
  void* context = spec_.manager_ctx ? this : nullptr;
  if (!spec_.versioned) {
    const DLManagedTensor out{described(), context, spec_.deleter ? delete_legacy : nullptr};
    std::memcpy(struct_, &out, sizeof out);
    return;
  }
  const DLManagedTensorVersioned out{
      spec_.version, context, spec_.deleter ? delete_versioned : nullptr, spec_.flags, described()};
  std::memcpy(struct_, &out,
              spec_.unmapped_body ? offsetof(DLManagedTensorVersioned, dl_tensor) : sizeof out);
}

DLTensor* Record::tensor() const noexcept {
  if (!spec_.versioned) return &reinterpret_cast<DLManagedTensor*>(struct_)->dl_tensor;
  return &reinterpret_cast<DLManagedTensorVersioned*>(struct_)->dl_tensor;
}

void Record::poison() noexcept {
  if (spec_.frozen) {
    for (const Pages& pages : pages_) pages.freeze(false);
    for (const Pages& pages : entries_) pages.freeze(false);
  }
  const auto fill = [](void* at, const Entries& entries) {
    if (entries.values) std::memset(at, kPoison, entries.values->size() * sizeof(std::int64_t));
  };
  fill(shape_, spec_.shape);
  fill(strides_, *spec_.strides);
  if (data_ != nullptr) std::memset(data_, kPoison, spec_.bytes->size());
  std::memset(struct_, kPoison,
              spec_.unmapped_body ? offsetof(DLManagedTensorVersioned, dl_tensor)
              : spec_.versioned   ? sizeof(DLManagedTensorVersioned)
                                  : sizeof(DLManagedTensor));
  // A second call has to be counted, so the deleter alone stays what it was.
  if (spec_.versioned) {
    reinterpret_cast<DLManagedTensorVersioned*>(struct_)->deleter = delete_versioned;
  } else {
    reinterpret_cast<DLManagedTensor*>(struct_)->deleter = delete_legacy;
  }
}

void call_deleter(void* managed, bool versioned) noexcept {
  if (versioned) {
    auto* self = static_cast<DLManagedTensorVersioned*>(managed);
    if (self->deleter != nullptr) self->deleter(self);
  } else {
    auto* self = static_cast<DLManagedTensor*>(managed);
    if (self->deleter != nullptr) self->deleter(self);
  }
}

}  // namespace adversary
