// Owns the memory and the deleters of watched tensors: how the real one stays behind its stand-in.
#include "watch.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "module.hpp"

namespace adversary {
namespace {

constexpr int kPoison = 0xDD;
constexpr std::int32_t kMostAxes = 64;

/// Both of a kind, so that one function serves two structs: the deleter's argument is its address.
using Deleter = void (*)(void*);

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<Watch>> watches;
  std::unordered_map<const void*, Watch*> by_original;  // of tensors that are not released
};

/// Never destroyed: deleters run after static destructors too.
Registry& registry() {
  static Registry& it = *new Registry;
  return it;
}

/// The limited API has no names for these.
bool ask(const char* name, const char* other, int absent) noexcept {
  using Ask = int (*)();
  void* found = ::dlsym(RTLD_DEFAULT, name);
  if (found == nullptr && other != nullptr) found = ::dlsym(RTLD_DEFAULT, other);
  return (found == nullptr ? absent : reinterpret_cast<Ask>(found)()) != 0;
}

}  // namespace

Event here() noexcept {
  const bool interpreter =
      Py_IsInitialized() != 0 && !ask("Py_IsFinalizing", "_Py_IsFinalizing", 0);
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {"",
          std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(),
          PyThread_get_thread_ident(),
          interpreter && ask("PyGILState_Check", nullptr, 0),
          interpreter,
          false,
          {}};
}

Watch& Watch::make(PyObject* capsule, void* managed, bool versioned) {
  std::unique_ptr<Watch> made(new Watch(capsule, managed, versioned));
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  Watch& out = *all.watches.emplace_back(std::move(made));
  out.capsule_ = Py_NewRef(capsule);
  Watch*& owner = all.by_original[managed];
  out.twin_ = owner != nullptr;
  if (!out.twin_) {
    owner = &out;
    if (out.deleter_ != nullptr) out.set_deleter(managed, relayed);  // the producer's own calls
  }
  return out;
}

DLTensor& Watch::tensor_in(void* managed) const noexcept {
  return versioned_ ? static_cast<DLManagedTensorVersioned*>(managed)->dl_tensor
                    : static_cast<DLManagedTensor*>(managed)->dl_tensor;
}

Deleter Watch::deleter_in(const void* managed) const noexcept {
  return versioned_
             ? reinterpret_cast<Deleter>(
                   static_cast<const DLManagedTensorVersioned*>(managed)->deleter)
             : reinterpret_cast<Deleter>(static_cast<const DLManagedTensor*>(managed)->deleter);
}

void Watch::set_deleter(void* managed, Deleter deleter) const noexcept {
  if (versioned_) {
    auto& self = *static_cast<DLManagedTensorVersioned*>(managed);
    self.deleter = reinterpret_cast<decltype(self.deleter)>(deleter);
  } else {
    auto& self = *static_cast<DLManagedTensor*>(managed);
    self.deleter = reinterpret_cast<decltype(self.deleter)>(deleter);
  }
}

Watch::Watch(PyObject* capsule, void* managed, bool versioned)
    : capsule_(capsule), original_(managed), deleter_(nullptr), versioned_(versioned) {
  deleter_ = deleter_in(managed);
  std::memset(ours_, 0, sizeof ours_);
  std::memcpy(ours_, managed,
              versioned ? sizeof(DLManagedTensorVersioned) : sizeof(DLManagedTensor));
  const DLTensor& tensor = tensor_in(managed);
  if (tensor.ndim > 0 && tensor.ndim <= kMostAxes) {  // what is malformed passes as it is
    if (tensor.shape != nullptr) kept_shape_.assign(tensor.shape, tensor.shape + tensor.ndim);
    if (tensor.strides != nullptr) {
      kept_strides_.assign(tensor.strides, tensor.strides + tensor.ndim);
    }
  }
  shape_ = kept_shape_;
  strides_ = kept_strides_;
  DLTensor& given = tensor_in(ours_);
  if (!shape_.empty()) given.shape = shape_.data();
  if (!strides_.empty()) given.strides = strides_.data();
  if (deleter_ != nullptr) set_deleter(ours_, called);
  std::memcpy(pristine_, ours_, sizeof ours_);
}

/// Before the tensor goes: afterwards neither side's memory says anything.
void Watch::compare() noexcept {
  consumer_wrote_ = consumer_wrote_ || std::memcmp(ours_, pristine_, sizeof ours_) != 0 ||
                    shape_ != kept_shape_ || strides_ != kept_strides_;
  const DLTensor& tensor = tensor_in(original_);
  const auto differs = [&](const std::int64_t* at, const std::vector<std::int64_t>& kept) {
    return !kept.empty() && (at == nullptr || !std::equal(kept.begin(), kept.end(), at));
  };
  producer_wrote_ = producer_wrote_ || differs(tensor.shape, kept_shape_) ||
                    differs(tensor.strides, kept_strides_);
}

void Watch::run(const char* kind) noexcept {
  Event event = here();
  event.kind = kind;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    ++calls_;
    first = !std::exchange(released_, true) && !twin_;
    if (first) compare();
  }
  if (first) {
    {
      Registry& all = registry();
      const std::lock_guard lock(all.mutex);
      all.by_original.erase(original_);
    }
    const bool pending = event.attached && PyErr_Occurred() != nullptr;
    set_deleter(original_, deleter_);
    deleter_(original_);  // the real one; the struct has gone with it
    event.raised = event.attached && !pending && PyErr_Occurred() != nullptr;
    std::fill(shape_.begin(), shape_.end(), kPoison);
    std::fill(strides_.begin(), strides_.end(), kPoison);
    std::memset(ours_, kPoison, sizeof ours_);
    set_deleter(ours_, called);  // a second call has to be counted
  }
  note(std::move(event));
}

void Watch::called(void* managed) noexcept { static_cast<Watch*>(managed)->run("deleter"); }

void Watch::relayed(void* managed) noexcept {
  Watch* found = nullptr;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    found = all.by_original.at(managed);  // another address is memory corruption: terminate
  }
  found->run("destructor");
}

void Watch::note(Event event) noexcept {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

std::vector<Event> Watch::events() {
  const std::lock_guard lock(mutex_);
  return events_;
}

int Watch::deleter_calls() {
  const std::lock_guard lock(mutex_);
  return calls_;
}

bool Watch::consumer_wrote() {
  const std::lock_guard lock(mutex_);
  if (!released_ && !twin_) compare();
  return consumer_wrote_;
}

bool Watch::producer_wrote() {
  const std::lock_guard lock(mutex_);
  if (!released_ && !twin_) compare();
  return producer_wrote_;
}

void Watch::let_go(bool taken) noexcept {
  PyObject* capsule = std::exchange(capsule_, nullptr);
  if (capsule == nullptr) return;
  if (!taken && deleter_calls() > 0) {  // deleted without a rename: the destructor deletes again
    run("destructor");
  } else if (!taken) {
    PyCapsule_SetName(capsule, kNames[versioned_]);
  }
  Py_DECREF(capsule);  // its own destructor decides
}

}  // namespace adversary
