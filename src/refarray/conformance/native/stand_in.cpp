// StandIn: the copies that the consumer gets, the original's release, the recorded events.
#include "stand_in.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "kit_module.hpp"

namespace adversary {
namespace {

constexpr int kPoison = 0xDD;
constexpr std::int32_t kMostAxes = 64;

constexpr std::size_t kUsualEvents = 4;  // of one tensor

/// The deleters of both structs take a pointer to the struct, so one type serves both.
using Deleter = void (*)(void*);

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<StandIn>> stand_ins;
  std::unordered_map<const void*, StandIn*> by_original;  // until the original is released
};

/// Never destroyed: deleters may run after static destructors.
Registry& registry() {
  static Registry& it = *new Registry;
  return it;
}

/// Calls a predicate of CPython that the limited API lacks; false if neither name exists.
bool call_predicate(const char* name, const char* other) noexcept {
  using Predicate = int (*)();
  void* found = ::dlsym(RTLD_DEFAULT, name);
  if (found == nullptr && other != nullptr) found = ::dlsym(RTLD_DEFAULT, other);
  return found != nullptr && reinterpret_cast<Predicate>(found)() != 0;
}

}  // namespace

Event event_here() noexcept {
  const bool interpreter =
      Py_IsInitialized() != 0 && !call_predicate("Py_IsFinalizing", "_Py_IsFinalizing");
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {"",
          std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(),
          PyThread_get_thread_ident(),
          interpreter && call_predicate("PyGILState_Check", nullptr),
          interpreter,
          false,
          {}};
}

StandIn& StandIn::make(PyObject* capsule, void* managed, bool versioned) {
  std::unique_ptr<StandIn> made(new StandIn(capsule, managed, versioned));
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  StandIn*& owner = all.by_original[managed];
  StandIn& out = *all.stand_ins.emplace_back(std::move(made));  // the last that may fail
  out.capsule_ = Py_NewRef(capsule);
  out.duplicate_ = owner != nullptr;
  if (!out.duplicate_) {
    owner = &out;
    if (out.deleter_ != nullptr)
      out.set_deleter(managed, relayed);  // records calls by the producer
  }
  return out;
}

DLTensor& StandIn::tensor_in(void* managed) const noexcept {
  return versioned_ ? static_cast<DLManagedTensorVersioned*>(managed)->dl_tensor
                    : static_cast<DLManagedTensor*>(managed)->dl_tensor;
}

Deleter StandIn::deleter_in(const void* managed) const noexcept {
  return versioned_
             ? reinterpret_cast<Deleter>(
                   static_cast<const DLManagedTensorVersioned*>(managed)->deleter)
             : reinterpret_cast<Deleter>(static_cast<const DLManagedTensor*>(managed)->deleter);
}

void StandIn::set_deleter(void* managed, Deleter deleter) const noexcept {
  if (versioned_) {
    auto& self = *static_cast<DLManagedTensorVersioned*>(managed);
    self.deleter = reinterpret_cast<decltype(self.deleter)>(deleter);
  } else {
    auto& self = *static_cast<DLManagedTensor*>(managed);
    self.deleter = reinterpret_cast<decltype(self.deleter)>(deleter);
  }
}

StandIn::StandIn(PyObject* capsule, void* managed, bool versioned)
    : capsule_(capsule), original_(managed), deleter_(nullptr), versioned_(versioned) {
  events_.reserve(kUsualEvents);
  deleter_ = deleter_in(managed);
  std::memset(copy_, 0, sizeof copy_);
  std::memcpy(copy_, managed,
              versioned ? sizeof(DLManagedTensorVersioned) : sizeof(DLManagedTensor));
  const DLTensor& tensor = tensor_in(managed);
  if (tensor.ndim > 0 && tensor.ndim <= kMostAxes) {  // a malformed tensor is passed on unchanged
    if (tensor.shape != nullptr) kept_shape_.assign(tensor.shape, tensor.shape + tensor.ndim);
    if (tensor.strides != nullptr) {
      kept_strides_.assign(tensor.strides, tensor.strides + tensor.ndim);
    }
  }
  shape_ = kept_shape_;
  strides_ = kept_strides_;
  DLTensor& exported = tensor_in(copy_);
  if (!shape_.empty()) exported.shape = shape_.data();
  if (!strides_.empty()) exported.strides = strides_.data();
  if (deleter_ != nullptr) set_deleter(copy_, called);
  std::memcpy(pristine_, copy_, sizeof copy_);
}

/// Must run before the original is released, while both copies are valid.
void StandIn::compare() noexcept {
  consumer_wrote_ = consumer_wrote_ || std::memcmp(copy_, pristine_, sizeof copy_) != 0 ||
                    shape_ != kept_shape_ || strides_ != kept_strides_;
  const DLTensor& tensor = tensor_in(original_);
  const auto differs = [&](const std::int64_t* at, const std::vector<std::int64_t>& kept) {
    return !kept.empty() && (at == nullptr || !std::equal(kept.begin(), kept.end(), at));
  };
  producer_wrote_ = producer_wrote_ || differs(tensor.shape, kept_shape_) ||
                    differs(tensor.strides, kept_strides_);
}

void StandIn::run(const char* kind) noexcept {
  Event event = event_here();
  event.kind = kind;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    ++calls_;
    first = !std::exchange(released_, true) && !duplicate_;
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
    deleter_(original_);  // frees the original struct
    event.raised = event.attached && !pending && PyErr_Occurred() != nullptr;
    std::fill(shape_.begin(), shape_.end(), kPoison);
    std::fill(strides_.begin(), strides_.end(), kPoison);
    std::memset(copy_, kPoison, sizeof copy_);
    set_deleter(copy_, called);  // so that a second call is counted
  }
  record(std::move(event));
}

void StandIn::called(void* managed) noexcept { static_cast<StandIn*>(managed)->run("deleter"); }

void StandIn::relayed(void* managed) noexcept {
  StandIn* found = nullptr;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    found = all.by_original.at(managed);  // another address is memory corruption: terminate
  }
  found->run("destructor");
}

void StandIn::record(Event event) noexcept try {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
} catch (const std::bad_alloc&) {
  // Of more events than usual, one is lost. `calls_` counts it if it is a deleter's.
}

std::vector<Event> StandIn::events() {
  const std::lock_guard lock(mutex_);
  return events_;
}

int StandIn::deleter_calls() {
  const std::lock_guard lock(mutex_);
  return calls_;
}

bool StandIn::consumer_wrote() {
  const std::lock_guard lock(mutex_);
  if (!released_ && !duplicate_) compare();
  return consumer_wrote_;
}

bool StandIn::producer_wrote() {
  const std::lock_guard lock(mutex_);
  if (!released_ && !duplicate_) compare();
  return producer_wrote_;
}

void StandIn::release_capsule(bool taken) noexcept {
  PyObject* capsule = std::exchange(capsule_, nullptr);
  if (capsule == nullptr) return;
  if (!taken && deleter_calls() > 0) {  // deleted but not renamed: its destructor deletes again
    run("destructor");
  } else if (!taken) {
    PyCapsule_SetName(capsule, kNames[versioned_]);
  }
  Py_DECREF(capsule);  // its own destructor decides whether to call the deleter
}

}  // namespace adversary
