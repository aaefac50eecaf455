// RecursionGuard: turns endless recursion through foreign code into a RecursionError.
#pragma once

#include <Python.h>

#include "extension/capi/errors.hpp"

namespace refarray::extension {

/// RAII: one level of the interpreter's recursion limit. For functions that foreign code may call
/// again without a Python function in between, and for those that recurse themselves. Throws
/// ErrorSet with RecursionError; `where` ends its message.
class RecursionGuard {
 public:
  explicit RecursionGuard(const char* where, bool needed = true) : needed_(needed) {
    if (needed) check(Py_EnterRecursiveCall(where));
  }
  RecursionGuard(const RecursionGuard&) = delete;
  RecursionGuard& operator=(const RecursionGuard&) = delete;
  ~RecursionGuard() {
    if (needed_) Py_LeaveRecursiveCall();
  }

 private:
  bool needed_;
};

}  // namespace refarray::extension
