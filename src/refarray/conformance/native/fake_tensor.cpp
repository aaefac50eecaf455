// FakeTensor: memory layout, poisoning and the registry.
#include "fake_tensor.hpp"

#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "system.hpp"

namespace adversary {
namespace {

constexpr int kPoison = 0xDD;
constexpr std::size_t kWithPages = 4000;  // tensors that keep pages: mappings are limited
constexpr std::size_t kAlignment = 256;   // of `data`, as dlpack.h requires

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<FakeTensor>> tensors;
  std::unordered_map<const void*, FakeTensor*> by_address;
};

/// Never destroyed: deleters may run after static destructors. Still reachable, so leak checkers do
/// not report it.
Registry& registry() {
  static Registry& it = *new Registry;
  return it;
}

extern "C" void delete_versioned(DLManagedTensorVersioned* self) { FakeTensor::deleted(self); }
extern "C" void delete_legacy(DLManagedTensor* self) { FakeTensor::deleted(self); }

/// Row-major strides; computed unsigned, because malformed extents overflow.
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
  const std::size_t page = page_size();
  const std::size_t used = (bytes + page - 1) / page * page;
  void* base = map_pages(used + page);
  if (base == nullptr) throw std::bad_alloc();
  begin_ = static_cast<std::byte*>(base);
  end_ = begin_ + used;
  if (!protect_pages(end_, page, Access::kNone)) throw std::runtime_error("no guard page");
}

void Pages::freeze(bool on) const {
  const auto size = static_cast<std::size_t>(end_ - begin_);
  if (!protect_pages(begin_, size, on ? Access::kRead : Access::kWrite))
    throw std::runtime_error("the pages keep their protection");
}

void Pages::unmap() const noexcept {
  unmap_pages(begin_, static_cast<std::size_t>(end_ - begin_) + page_size());
}

FakeTensor& FakeTensor::make(TensorFields fields) {
  std::unique_ptr<FakeTensor> made(new FakeTensor(std::move(fields)));
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  FakeTensor& out = *all.tensors.emplace_back(std::move(made));
  all.by_address.emplace(out.struct_, &out);
  if (all.tensors.size() > kWithPages) all.tensors[all.tensors.size() - kWithPages]->retire();
  return out;
}

std::vector<FakeTensor*> FakeTensor::since(std::size_t first) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<FakeTensor*> out;
  for (std::size_t i = first; i < all.tensors.size(); ++i) out.push_back(all.tensors[i].get());
  return out;
}

std::size_t FakeTensor::count() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return all.tensors.size();
}

void FakeTensor::deleted(const void* managed) noexcept {
  FakeTensor* fake = nullptr;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    fake = all.by_address.at(managed);  // another address is memory corruption: terminate
  }
  if (fake->calls_.fetch_add(1) != 0) return;
  fake->poison();
  if (fake->hook) fake->hook();
}

FakeTensor::FakeTensor(TensorFields fields) : fields_(std::move(fields)) {
  if (fields_.unmapped_body && !fields_.versioned) {
    throw std::invalid_argument("unmapped_body needs a versioned struct");
  }
  if (fields_.bytes) {
    void* raw = ::operator new(fields_.bytes->size() + 1, std::align_val_t{kAlignment});
    std::memcpy(raw, fields_.bytes->data(), fields_.bytes->size());
    data_ = static_cast<std::byte*>(raw);
  }
  if (!fields_.strides) fields_.strides = row_major(fields_.shape);
  shape_ = place(fields_.shape, shape_heap_);
  strides_ = place(*fields_.strides, strides_heap_);
  if (fields_.unmapped_body) {
    struct_ = pages_.emplace_back(sizeof(DLManagedTensorVersioned))
                  .last(offsetof(DLManagedTensorVersioned, dl_tensor));
  } else if (fields_.frozen) {
    struct_ = pages_.emplace_back(sizeof in_place_).last(sizeof in_place_);
  } else {
    struct_ = in_place_;
  }
  write_struct();
  if (fields_.frozen) {
    for (const Pages& pages : pages_) pages.freeze(true);
    for (const Pages& pages : entries_) pages.freeze(true);
  }
}

/// Unmaps shape and strides long after the deleter ran, so that a late read faults.
void FakeTensor::retire() noexcept {
  if (calls_.load() == 0) return;
  for (const Pages& pages : entries_) pages.unmap();
  entries_.clear();
}

std::int64_t* FakeTensor::place(const Entries& entries, std::unique_ptr<std::int64_t[]>& heap) {
  if (!entries.values) return reinterpret_cast<std::int64_t*>(entries.address);
  const std::size_t bytes = entries.values->size() * sizeof(std::int64_t);
  std::int64_t* out = nullptr;
  if (fields_.guarded || fields_.frozen) {
    out = reinterpret_cast<std::int64_t*>(entries_.emplace_back(bytes + 1).last(bytes));
  } else {
    heap = std::make_unique<std::int64_t[]>(entries.values->size() + 1);
    out = heap.get();
  }
  if (bytes != 0) std::memcpy(out, entries.values->data(), bytes);
  return out;
}

DLTensor FakeTensor::described() const noexcept {
  DLTensor out{};
  out.data =
      data_ == nullptr ? reinterpret_cast<void*>(fields_.address) : data_ + fields_.data_offset;
  std::memcpy(&out.device.device_type, &fields_.device_type, sizeof fields_.device_type);
  out.device.device_id = fields_.device_id;
  const std::size_t entries = fields_.shape.values ? fields_.shape.values->size() : 0;
  out.ndim = fields_.ndim.value_or(static_cast<std::int32_t>(entries));
  out.dtype = fields_.dtype;
  out.shape = shape_;
  out.strides = strides_;
  out.byte_offset = fields_.byte_offset;
  return out;
}

void FakeTensor::write_struct() noexcept {
  void* context = fields_.manager_ctx ? this : nullptr;
  if (!fields_.versioned) {
    const DLManagedTensor out{described(), context, fields_.deleter ? delete_legacy : nullptr};
    std::memcpy(struct_, &out, sizeof out);
    return;
  }
  const DLManagedTensorVersioned out{fields_.version, context,
                                     fields_.deleter ? delete_versioned : nullptr, fields_.flags,
                                     described()};
  std::memcpy(struct_, &out,
              fields_.unmapped_body ? offsetof(DLManagedTensorVersioned, dl_tensor) : sizeof out);
}

DLTensor* FakeTensor::dl_tensor() const noexcept {
  if (!fields_.versioned) return &reinterpret_cast<DLManagedTensor*>(struct_)->dl_tensor;
  return &reinterpret_cast<DLManagedTensorVersioned*>(struct_)->dl_tensor;
}

void FakeTensor::poison() noexcept {
  if (fields_.frozen) {
    for (const Pages& pages : pages_) pages.freeze(false);
    for (const Pages& pages : entries_) pages.freeze(false);
  }
  const auto fill = [](void* at, const Entries& entries) {
    if (entries.values) std::memset(at, kPoison, entries.values->size() * sizeof(std::int64_t));
  };
  fill(shape_, fields_.shape);
  fill(strides_, *fields_.strides);
  if (data_ != nullptr) std::memset(data_, kPoison, fields_.bytes->size());
  std::memset(struct_, kPoison,
              fields_.unmapped_body ? offsetof(DLManagedTensorVersioned, dl_tensor)
              : fields_.versioned   ? sizeof(DLManagedTensorVersioned)
                                    : sizeof(DLManagedTensor));
  // Keep the deleter, so that a second call is counted.
  if (fields_.versioned) {
    reinterpret_cast<DLManagedTensorVersioned*>(struct_)->deleter = delete_versioned;
  } else {
    reinterpret_cast<DLManagedTensor*>(struct_)->deleter = delete_legacy;
  }
}

void call_deleter(void* managed, bool versioned) {
  if (versioned) {
    auto* self = static_cast<DLManagedTensorVersioned*>(managed);
    if (self->deleter != nullptr) self->deleter(self);
  } else {
    auto* self = static_cast<DLManagedTensor*>(managed);
    if (self->deleter != nullptr) self->deleter(self);
  }
}

}  // namespace adversary
