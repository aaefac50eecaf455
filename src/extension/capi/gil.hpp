// Owns entering and leaving the interpreter: letting other threads run during long copies, and
// getting in from a deleter.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "extension/capi/compat.hpp"

namespace refarray::extension {

/// Copies of fewer bytes than this keep the GIL: giving it up costs more than they take.
inline constexpr std::int64_t kReleaseGilAbove = std::int64_t{1} << 16;

/// Lets other Python threads run while it lives. No PyObject may be touched meanwhile.
class GilRelease {
 public:
  explicit GilRelease(bool really) noexcept : state_(really ? PyEval_SaveThread() : nullptr) {}
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease() {
    if (state_ != nullptr) take();
  }

  /// Takes the GIL for as long as pending signal handlers run; true when one raised. Only after a
  /// real release.
  bool run_handlers() noexcept {
    take();
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

/// Says, while it lives, that the calling thread runs in `interpreter` although that is being
/// finalized: a borrowed object let go meanwhile may be released. Costs nothing at any other time,
/// when a thread can simply be asked.
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

/// What extensions keep for an interpreter, borrowed; goes when that ends. Throws ErrorSet.
PyObject* interpreter_dict();

/// Whether one interpreter is still there, shared by its modules and by every storage that borrows
/// a Python object. It ends with the interpreter's dict, after all that Python can reach; a storage
/// that outlives that leaves its Python object alone: there is no interpreter any more that could
/// release it. (Before PEP 788 an interpreter that ends between the question and the answer cannot
/// be excluded from a thread that is not attached; from 3.15 on it can.)
/// A module must not end it: an immortal type keeps its module for as long as the process runs.
class InterpreterLease {
 public:
  /// The one of the interpreter that the caller runs in, made when first asked for: a new
  /// reference. Throws ErrorSet, std::bad_alloc.
  static InterpreterLease* of_current_interpreter();

  InterpreterLease* share() noexcept {
    references_.fetch_add(1, std::memory_order_relaxed);
    return this;
  }
  void drop() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  /// Runs `body` in this lease's interpreter if it can still be entered; false when it was left
  /// alone.
  template <class Body>
  bool enter(Body body) noexcept {
    if (!alive_.load(std::memory_order_acquire)) return false;
    if (compat::is_finalizing()) {  // nobody can attach any more; who is attached may go on
      if (Attached::current() != interpreter_) return false;
      body();
      return true;
    }
    const compat::AnyThreadState attached;  // some interpreter of this process
    if (PyInterpreterState_Get() == interpreter_) {
      body();
      return true;
    }
    return enter_other(body);
  }

 private:
  explicit InterpreterLease(PyInterpreterState* interpreter) noexcept : interpreter_(interpreter) {}
  static void end(PyObject* capsule) noexcept;

  /// From a thread that is attached to another interpreter, perhaps with a GIL of its own.
  template <class Body>
  bool enter_other(Body body) noexcept {
    PyThreadState* fresh = PyThreadState_New(interpreter_);
    if (fresh == nullptr) return false;
    PyThreadState* before = PyEval_SaveThread();
    PyEval_RestoreThread(fresh);
    body();
    PyThreadState_Clear(fresh);
    PyThreadState_Delete(PyEval_SaveThread());
    PyEval_RestoreThread(before);
    return true;
  }

  PyInterpreterState* interpreter_;
  std::atomic<std::uint32_t> references_{1};
  std::atomic<bool> alive_{true};
};

}  // namespace refarray::extension
