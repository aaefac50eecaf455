// StandIn: a managed tensor that replaces a real producer's tensor and records how it is released,
// and its Python type, which spies put between a real producer and a consumer.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kit_module.hpp"

namespace adversary {
namespace {

/// The deleters of both structs take a pointer to the struct, so one type serves both.
using Deleter = void (*)(void*);

/// A deleter call or a destroyed capsule, and the thread it happened in.
struct Event {
  /// "deleter": the consumer called the deleter. "destructor": the producer's capsule called the
  /// original tensor's deleter. "capsule": the consumer's capsule was destroyed.
  const char* kind;
  std::int64_t nanoseconds;  // of time.monotonic()
  unsigned long thread;      // threading.get_ident()
  bool attached;             // the thread may use Python objects
  bool interpreter;          // the interpreter exists and is not finalizing
  bool raised;               // the deleter set an exception
  char name[64];             // of the destroyed capsule; of a longer one, the beginning
};

/// The consumer gets copies of struct, shape and strides, so that writes of the consumer and of the
/// producer can be told apart. Lives until the process ends, so that a late or second deleter call
/// is counted.
class StandIn {
 public:
  /// Takes ownership of the managed tensor and keeps `capsule`, which already has its used name.
  static StandIn& make(PyObject* capsule, void* managed, bool versioned);

  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  void* managed() noexcept { return copy_; }
  bool versioned() const noexcept { return versioned_; }
  bool has_deleter() const noexcept { return deleter_ != nullptr; }
  void* original() const noexcept { return original_; }
  std::vector<Event> events();
  int deleter_calls();
  /// Whether the consumer changed the struct, shape or strides it received, and whether the
  /// producer changed shape or strides after the export.
  bool consumer_wrote();
  bool producer_wrote();
  void record(Event event) noexcept;
  /// Releases the producer's capsule after the consumer's was destroyed. If nobody consumed the
  /// tensor (`taken` false), the capsule first gets its unused name back. Needs the GIL.
  void release_capsule(bool taken) noexcept;

 private:
  StandIn(PyObject* capsule, void* managed, bool versioned);
  DLTensor& tensor_in(void* managed) const noexcept;
  Deleter deleter_in(const void* managed) const noexcept;
  void set_deleter(void* managed, Deleter deleter) const noexcept;
  void compare() noexcept;
  void run(const char* kind) noexcept;
  static void called(void* managed) noexcept;
  static void relayed(void* managed) noexcept;

  // The first member, because the deleter casts its argument to StandIn*.
  alignas(16) std::byte copy_[sizeof(DLManagedTensorVersioned)];
  std::byte pristine_[sizeof(DLManagedTensorVersioned)];
  std::vector<std::int64_t> shape_, strides_;            // the consumer's
  std::vector<std::int64_t> kept_shape_, kept_strides_;  // at the time of the export
  PyObject* capsule_;
  void* original_;
  Deleter deleter_;
  bool versioned_;
  std::mutex mutex_;
  std::vector<Event> events_;
  int calls_ = 0;
  bool released_ = false;
  bool duplicate_ = false;  // another StandIn of the same tensor releases it
  bool consumer_wrote_ = false;
  bool producer_wrote_ = false;
};

constexpr int kPoison = 0xDD;
constexpr std::size_t kUsualEvents = 4;  // of one tensor

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

/// An event of the current time and thread, without a kind.
Event event_here() noexcept {
  static const Predicate holds_gil = find_predicate("PyGILState_Check");
  const bool interpreter = Py_IsInitialized() != 0 && !is_finalizing();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {"",
          std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(),
          PyThread_get_thread_ident(),
          interpreter && holds_gil != nullptr && holds_gil() != 0,
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

struct StandInObject {
  [[no_unique_address]] Head head;
  StandIn* stand_in;
  bool issued;
};

StandInObject& self_of(PyObject* self) { return struct_of<StandInObject>(self); }

/// Destructor of the consumer's capsule. If it was not consumed, the producer's capsule deletes the
/// tensor.
void destroy(PyObject* capsule) noexcept {
  const char* name = PyCapsule_GetName(capsule);
  auto* stand_in = static_cast<StandIn*>(PyCapsule_GetContext(capsule));
  Event event = event_here();
  event.kind = "capsule";
  std::snprintf(event.name, sizeof event.name, "%s", name == nullptr ? "" : name);
  const bool taken = std::strcmp(event.name, kNames[stand_in->versioned()]) != 0;
  stand_in->record(std::move(event));
  stand_in->release_capsule(taken);
}

PyObject* make_stand_in(PyObject* module, PyObject* capsule) {
  return guarded([&] {
    int versioned = -1;
    for (const int each : {0, 1}) {
      if (PyCapsule_IsValid(capsule, kNames[each]) != 0) versioned = each;
    }
    if (versioned < 0) fail(PyExc_ValueError, "%R is not an unconsumed DLPack capsule", capsule);
    void* managed = PyCapsule_GetPointer(capsule, kNames[versioned]);
    if (versioned == 1 &&
        static_cast<DLManagedTensorVersioned*>(managed)->version.major != DLPACK_MAJOR_VERSION) {
      fail(PyExc_NotImplementedError, "the struct is of another major version");
    }
    Ref out(allocate(state_of(module).stand_in_type));
    if (PyCapsule_SetName(capsule, kUsedNames[versioned]) != 0) throw PythonError{};
    try {
      self_of(out.get()).stand_in = &StandIn::make(capsule, managed, versioned == 1);
    } catch (...) {
      PyCapsule_SetName(capsule, kNames[versioned]);  // the capsule still owns the tensor
      throw;
    }
    return out.release();
  });
}

PyObject* capsule(PyObject* self, PyObject*) {
  return guarded([&] {
    StandIn& stand_in = *self_of(self).stand_in;
    if (std::exchange(self_of(self).issued, true)) {
      fail(PyExc_RuntimeError, "this managed tensor was exported before");
    }
    PyObject* made = PyCapsule_New(stand_in.managed(), kNames[stand_in.versioned()], nullptr);
    if (made == nullptr) {  // no memory: the producer's capsule deletes the tensor
      PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
      PyErr_Fetch(&type, &value, &traceback);
      stand_in.release_capsule(false);
      PyErr_Restore(type, value, traceback);
    }
    Ref out(made);
    if (PyCapsule_SetContext(out.get(), &stand_in) != 0 ||
        PyCapsule_SetDestructor(out.get(), destroy) != 0) {
      throw PythonError{};
    }
    return out.release();
  });
}

PyObject* events(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref out(PyList_New(0));
    for (const Event& each : self_of(self).stand_in->events()) {
      const Ref row(Py_BuildValue("(sLkNNNs)", each.kind, static_cast<long long>(each.nanoseconds),
                                  each.thread, PyBool_FromLong(each.attached),
                                  PyBool_FromLong(each.interpreter), PyBool_FromLong(each.raised),
                                  each.name));
      if (PyList_Append(out.get(), row.get()) < 0) throw PythonError{};
    }
    return out.release();
  });
}

/// Whether the consumer kept the destructor of its capsule.
PyObject* has_destructor(PyObject*, PyObject* capsule) {
  return PyBool_FromLong(PyCapsule_GetDestructor(capsule) == destroy);
}

/// For a consumer that cleared the destructor of its capsule: releases the producer's capsule if
/// the deleter has run.
PyObject* release_capsule(PyObject* self, PyObject*) {
  if (self_of(self).stand_in->deleter_calls() > 0) self_of(self).stand_in->release_capsule(true);
  return Py_NewRef(Py_None);
}

PyObject* get_calls(PyObject* self, void*) {
  return PyLong_FromLong(self_of(self).stand_in->deleter_calls());
}
PyObject* get_deleter(PyObject* self, void*) {
  return PyBool_FromLong(self_of(self).stand_in->has_deleter());
}
PyObject* get_original(PyObject* self, void*) {
  return PyLong_FromVoidPtr(self_of(self).stand_in->original());
}
PyObject* get_consumer_wrote(PyObject* self, void*) {
  return PyBool_FromLong(self_of(self).stand_in->consumer_wrote());
}
PyObject* get_producer_wrote(PyObject* self, void*) {
  return PyBool_FromLong(self_of(self).stand_in->producer_wrote());
}

PyMethodDef methods[] = {
    {"capsule", capsule, METH_NOARGS,
     "Return the consumer's capsule; a second call raises RuntimeError."},
    {"events", events, METH_NOARGS,
     "Return (kind, nanoseconds, thread, attached, interpreter, raised, name) of each event."},
    {"release_capsule", release_capsule, METH_NOARGS,
     "Release the producer's capsule if the deleter has run."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef getset[] = {
    {"deleter_calls", get_calls, nullptr, nullptr, nullptr},
    {"has_deleter", get_deleter, nullptr, nullptr, nullptr},
    {"original", get_original, nullptr, "The address of the producer's managed tensor.", nullptr},
    {"consumer_wrote", get_consumer_wrote, nullptr, nullptr, nullptr},
    {"producer_wrote", get_producer_wrote, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot type_slots[] = {
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_dealloc, reinterpret_cast<void*>(release)},
    {0, nullptr},
};
PyType_Spec type_spec = {"adversary.StandIn", kBasicSize<StandInObject>, 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, type_slots};

PyMethodDef functions[] = {
    {"stand_in", make_stand_in, METH_O,
     "Consume the capsule of a real producer; return a StandIn for its tensor."},
    {"has_destructor", has_destructor, METH_O, "Whether a StandIn's capsule kept its destructor."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_stand_in(PyObject* module, ModuleState& state) {
  state.stand_in_type = add_type(module, type_spec);
  add_functions(module, functions);
}

}  // namespace adversary
