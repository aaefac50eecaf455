// Releasing the GIL around long operations, which signal handlers can interrupt, and attaching to
// an interpreter from a deleter.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "core/work_sharing.hpp"
#include "extension/capi/errors.hpp"

namespace refarray::extension {

/// Copies of fewer bytes keep the GIL: releasing it would cost more than the copy.
inline constexpr std::int64_t kReleaseGilAbove = std::int64_t{1} << 16;

/// RAII: releases the GIL, or detaches the thread state in free-threaded builds. No PyObject may be
/// used in the scope.
class GilRelease {
 public:
  explicit GilRelease(bool release) noexcept : state_(release ? PyEval_SaveThread() : nullptr) {}
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease() {
    if (state_ != nullptr) take();
  }

  bool is_released() const noexcept { return state_ != nullptr; }
  /// Runs pending signal handlers with the GIL, which then is released; true if one raised.
  bool run_handlers() noexcept {
    if (is_released()) take();
    const bool raised = compat::park_at_exit([] { return PyErr_CheckSignals(); }) < 0;
    state_ = PyEval_SaveThread();
    return raised;
  }

 private:
  void take() noexcept {
    compat::park_at_exit([this] { PyEval_RestoreThread(state_); });
  }

  PyThreadState* state_;
};

/// Runs pending signal handlers during long work, at most once per kInterval, because taking the
/// GIL may mean waiting for another thread. Work that turns out to be long releases the GIL here.
class SignalCheck {
 public:
  explicit SignalCheck(GilRelease& released) noexcept : released_(released) {
    if (released.is_released()) last_ = Clock::now();
  }
  core::InterruptCheck callback() noexcept {
    return {[](void* self) noexcept { return static_cast<SignalCheck*>(self)->is_interrupted(); },
            this};
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{20};

  /// Short work asks once or a few times: it does not pay for the clock.
  static constexpr int kChecksPerLook = 8;

  bool is_interrupted() noexcept {
    if (!released_.is_released() && ++checks_ % kChecksPerLook != 0) return false;
    const Clock::time_point now = Clock::now();
    if (now - last_ < kInterval) return false;
    const bool is_first = last_ == Clock::time_point{};
    last_ = now;
    return !is_first && released_.run_handlers();
  }

  GilRelease& released_;
  int checks_ = 0;
  Clock::time_point last_{};  // of the epoch: not looked at yet
};

/// Calls `work(interrupt)`, which returns false when the check interrupted it. Pending signal
/// handlers run several times in 100 ms; if one raises, the work stops and ErrorSet is thrown. With
/// kReleaseGilAbove `bytes` or more the GIL is released at once, otherwise by the first check that
/// finds the work to be long. `work` touches no Python object.
template <class Work>
void run_interruptibly(std::int64_t bytes, const Work& work) {
  GilRelease released(bytes >= kReleaseGilAbove);
  SignalCheck signals(released);
  const bool is_complete = work(signals.callback());
  if (!is_complete) throw ErrorSet{};  // a handler raised; unwinding takes the GIL again
}

/// RAII: records that the calling thread is attached to an interpreter that is being finalized, so
/// that a storage destroyed in this scope may release its Python objects. Before finalization it
/// does nothing, since InterpreterLease::enter() can then query the thread state.
class Attached {
 public:
  Attached() noexcept : finalizing_(compat::is_finalizing()) {
    if (finalizing_) before_ = std::exchange(current_, PyInterpreterState_Get());
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  ~Attached() {
    if (finalizing_) current_ = before_;
  }
  static PyInterpreterState* current() noexcept { return current_; }
  bool is_at_end() const noexcept { return finalizing_; }

 private:
  static inline thread_local PyInterpreterState* current_ = nullptr;
  bool finalizing_;
  PyInterpreterState* before_ = nullptr;
};

/// core::ForeignCaller: saves a pending exception around code of another library. A thread that is
/// not attached to an interpreter is attached if it may wait (runtime::may_wait()). On other
/// threads, which consumers call our deleters on, the code runs without the GIL: DLPack lets it
/// (LIFE-04), and a consumer may hold the GIL elsewhere while it waits for this thread.
void call_foreign_code(void (*body)(void*) noexcept, void* argument) noexcept;

/// core::ForeignCaller for driver calls: releases the GIL around them if the thread holds it, as a
/// consumer may when it calls our deleter. Not at interpreter exit, where it would not get it back.
void call_driver_code(void (*body)(void*) noexcept, void* argument) noexcept;

/// The interpreter's dict for extension modules, borrowed. It is cleared late in finalization.
/// Throws ErrorSet.
PyObject* interpreter_dict();

/// Reference-counted flag: is this interpreter still alive? Shared by its modules and by every
/// storage that borrows a Python object. It is cleared when the interpreter's dict is destroyed,
/// which is after everything that Python code can reach; module teardown would not do, because an
/// immortal type keeps its module alive until the process ends. A storage that outlives the
/// interpreter leaks its Python object on purpose: nobody is left to release it to.
/// A thread that is not attached can still race with the end of the interpreter between the check
/// and the attach. Before PEP 788 (Python 3.15) CPython has no way to exclude that.
class InterpreterLease {
 public:
  /// A new reference to the current interpreter's lease, which the first call creates. Throws
  /// ErrorSet, std::bad_alloc.
  static InterpreterLease* of_current_interpreter();

  InterpreterLease* share() noexcept {
    references_.fetch_add(1, std::memory_order_relaxed);
    return this;
  }
  void drop() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  /// Attaches to this lease's interpreter and runs `body`. Returns false, without running it, if
  /// the interpreter can no longer be entered.
  template <class Body>
  bool enter(Body body) noexcept {
    if (!alive_.load(std::memory_order_acquire)) return false;
    if (compat::is_finalizing()) {  // threads cannot attach now, but attached ones may continue
      if (Attached::current() != interpreter_) return false;
      body();
      return true;
    }
    const compat::AnyThreadState attached;  // possibly to another interpreter of this process
    if (PyInterpreterState_Get() == interpreter_) {
      body();
      return true;
    }
    return enter_other(body);
  }

 private:
  explicit InterpreterLease(PyInterpreterState* interpreter) noexcept : interpreter_(interpreter) {}
  static void end(PyObject* capsule) noexcept;

  /// For a thread that is attached to another interpreter, which may have its own GIL.
  template <class Body>
  bool enter_other(Body body) noexcept {
    PyThreadState* fresh = PyThreadState_New(interpreter_);
    if (fresh == nullptr) return false;
    PyThreadState* before = PyEval_SaveThread();
    compat::park_at_exit([fresh] { PyEval_RestoreThread(fresh); });
    body();
    compat::park_at_exit([fresh] { PyThreadState_Clear(fresh); });
    PyThreadState_Delete(PyEval_SaveThread());
    compat::park_at_exit([before] { PyEval_RestoreThread(before); });
    return true;
  }

  PyInterpreterState* interpreter_;
  std::atomic<std::uint32_t> references_{1};
  std::atomic<bool> alive_{true};
};

}  // namespace refarray::extension
