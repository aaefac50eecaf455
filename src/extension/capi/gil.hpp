// Releasing the GIL around long operations, and attaching to an interpreter from a deleter.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "extension/capi/compat.hpp"

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
