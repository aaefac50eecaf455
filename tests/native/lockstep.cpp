// Race tests: two threads that use one object at the same moment after a barrier, and
// lightweight managed tensors that count their deletions.
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "parts.hpp"

namespace adversary {
namespace {

// --- Counted tensors. A FakeTensor is never freed, which would be too much for a million of them.

struct Counted {
  std::atomic<int> deletions{0};
  std::int64_t shape[1] = {4};
  std::int64_t strides[1] = {1};
  float data[4] = {0, 1, 2, 3};
  DLManagedTensorVersioned versioned{};
  DLManagedTensor legacy{};
};

struct Tally {
  std::atomic<long long> made{0};
  std::atomic<long long> deleted{0};
  std::atomic<long long> deleted_again{0};
};
Tally tally;

/// Delays the freeing of deleted tensors, so that a second deletion is counted and does not crash.
class Quarantine {
 public:
  void put(Counted* counted) {
    const std::lock_guard lock(mutex_);
    tensors_.emplace_back(counted);
    if (tensors_.size() > kMost) tensors_.pop_front();
  }

 private:
  static constexpr std::size_t kMost = 4096;
  std::mutex mutex_;
  std::deque<std::unique_ptr<Counted>> tensors_;
};

/// Never destroyed: deleters may run after static destructors.
Quarantine& quarantine() {
  static Quarantine& it = *new Quarantine;
  return it;
}

void count_deletion(void* context) {
  auto* self = static_cast<Counted*>(context);
  if (self->deletions.fetch_add(1) != 0) {
    tally.deleted_again.fetch_add(1);
    return;
  }
  tally.deleted.fetch_add(1);
  std::memset(self->data, 0xDD, sizeof self->data);
  quarantine().put(self);
}

extern "C" void delete_counted(DLManagedTensorVersioned* self) {
  count_deletion(self->manager_ctx);
}
extern "C" void delete_counted_legacy(DLManagedTensor* self) { count_deletion(self->manager_ctx); }

void drop_counted(PyObject* capsule) {
  for (const bool versioned : {false, true}) {
    if (PyCapsule_IsValid(capsule, kNames[versioned]) != 0)
      call_deleter(PyCapsule_GetPointer(capsule, kNames[versioned]), versioned);
  }
}

PyObject* counted(PyObject*, PyObject* versioned) {
  return guarded([&] {
    auto made = std::make_unique<Counted>();
    const DLTensor tensor{made->data,  {kDLCPU, 0},   1, {kDLFloat, 32, 1},
                          made->shape, made->strides, 0};
    made->versioned = {{1, 3}, made.get(), delete_counted, 0, tensor};
    made->legacy = {tensor, made.get(), delete_counted_legacy};
    const bool modern = versioned == Py_True;
    void* managed = modern ? static_cast<void*>(&made->versioned) : &made->legacy;
    Ref capsule(PyCapsule_New(managed, kNames[modern], drop_counted));
    (void)made.release();  // the capsule owns it from here on
    tally.made.fetch_add(1);
    return capsule.release();
  });
}

PyObject* tally_of(PyObject*, PyObject*) {
  return Py_BuildValue("{sLsLsL}", "made", tally.made.load(), "deleted", tally.deleted.load(),
                       "deleted_again", tally.deleted_again.load());
}

// --- Two threads in lock step

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // "yield" does nothing on most ARM processors
#endif
}

/// A reusable barrier for two threads. It spins first, so that they leave together, and then
/// sleeps: on a loaded machine each sched_yield() would wait for a turn of every other process.
class Barrier {
 public:
  /// Waits without the GIL, without a limit.
  void wait(unsigned long long number) {
    PyThreadState* saved = PyEval_SaveThread();
    const auto met = [&] { return arrived_.load() >= 2 * number; };
    arrived_.fetch_add(1);
    if (asleep_.load() > 0) {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    }
    for (int spins = 0; !met() && spins < 2000; ++spins) relax();
    if (!met()) {
      std::unique_lock lock(mutex_);
      ++asleep_;  // before met() is asked again: the other thread arrives before it reads asleep_
      changed_.wait(lock, met);
      --asleep_;
    }
    PyEval_RestoreThread(saved);
  }
  /// In free-threaded builds: a second, tighter barrier while attached. Bounded, because the
  /// garbage collector may be waiting for this thread to detach.
  void wait_attached([[maybe_unused]] unsigned long long number) noexcept {
#if defined(Py_GIL_DISABLED)
    attached_.fetch_add(1);
    for (int spins = 0; attached_.load() < 2 * number && spins < 3000; ++spins) relax();
#endif
  }

 private:
  std::atomic<unsigned long long> arrived_{0};
  std::atomic<unsigned long long> attached_{0};
  std::atomic<int> asleep_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// Calls function(object). Returns nullptr if it returned a value, else the exception's type.
PyTypeObject* call(PyObject* function, PyObject* object) {
  PyObject* result = PyObject_CallOneArg(function, object);
  if (result != nullptr) {
    Py_DECREF(result);
    return nullptr;
  }
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(PyErr_Occurred());
  Py_INCREF(type);  // leaked: there are few types
  PyErr_Clear();
  return type;
}

struct Round {
  PyObject* object = nullptr;      // borrowed; nullptr ends the second thread
  PyTypeObject* second = nullptr;  // the second thread's outcome
};

/// Delays a thread by a pseudo-random number of instructions that differs in each round.
void stagger(unsigned long long number, unsigned long long salt) noexcept {
  const unsigned long long mixed = (number + salt) * 0x9E3779B97F4A7C15ULL;
  for (unsigned long long i = mixed >> 58; i > 0; --i) relax();
}

/// The second thread.
void follow(PyInterpreterState* interpreter, PyObject* second, Barrier& barrier, Round& round) {
  PyEval_RestoreThread(PyThreadState_New(interpreter));
  for (unsigned long long number = 1;; number += 2) {
    barrier.wait(number);
    if (round.object == nullptr) break;
    barrier.wait_attached(number / 2 + 1);
    stagger(number, 1);
    round.second = call(second, round.object);
    barrier.wait(number + 1);
  }
  PyThreadState_Clear(PyThreadState_Get());
  PyThreadState_DeleteCurrent();
}

using Outcomes = std::map<std::pair<PyTypeObject*, PyTypeObject*>, long long>;

const char* text_of(PyTypeObject* type) { return type == nullptr ? "ok" : type->tp_name; }

PyObject* to_dict(const Outcomes& outcomes) {
  Ref out(PyDict_New());
  for (const auto& [pair, count] : outcomes) {
    const Ref key(Py_BuildValue("(ss)", text_of(pair.first), text_of(pair.second)));
    const Ref value(PyLong_FromLongLong(count));
    if (PyDict_SetItem(out.get(), key.get(), value.get()) < 0) throw PythonError{};
  }
  return out.release();
}

/// The first thread: runs all rounds. Returns false with an exception set if one could not begin.
bool lead(PyObject* make, PyObject* first, long long rounds, Barrier& barrier, Round& round,
          unsigned long long& number, Outcomes& outcomes) {
  for (long long i = 0; i < rounds; ++i, number += 2) {
    if (i % 1024 == 0 && PyErr_CheckSignals() < 0) return false;
    PyObject* object = PyObject_CallNoArgs(make);
    if (object == nullptr) return false;
    round.object = object;
    barrier.wait(number);
    barrier.wait_attached(number / 2 + 1);
    stagger(number, 2);
    PyTypeObject* outcome = call(first, object);
    barrier.wait(number + 1);
    ++outcomes[{outcome, round.second}];
    Py_DECREF(object);
  }
  return true;
}

PyObject* lock_step(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *make, *first, *second;
    long long rounds;
    if (PyArg_ParseTuple(args, "OOOL", &make, &first, &second, &rounds) == 0) throw PythonError{};
    Barrier barrier;
    Round round;
    Outcomes outcomes;
    unsigned long long number = 1;
    std::thread follower(follow, PyInterpreterState_Get(), second, std::ref(barrier),
                         std::ref(round));
    const bool done = lead(make, first, rounds, barrier, round, number, outcomes);
    round.object = nullptr;
    PyObject* pending = done ? nullptr : PyErr_Occurred();
    barrier.wait(number);
    PyThreadState* saved = PyEval_SaveThread();
    follower.join();
    PyEval_RestoreThread(saved);
    return pending != nullptr ? nullptr : to_dict(outcomes);
  });
}

PyMethodDef functions[] = {
    {"counted", counted, METH_O,
     "Return a capsule, versioned or not, whose deletions are counted."},
    {"tally", tally_of, METH_NOARGS,
     "Return how many counted tensors were made, deleted and deleted again."},
    {"lock_step", lock_step, METH_VARARGS,
     "(make, first, second, rounds): two threads call first(object) and second(object) at the same "
     "moment. Returns {(outcome, outcome): rounds}; an outcome is 'ok' or an exception's name."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_lockstep(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace adversary
