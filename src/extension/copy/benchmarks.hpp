// Private module functions for the copy benchmarks.
#pragma once

#include <Python.h>

namespace refarray::extension {

/// Module functions: _copy_into, _memcpy, _plan_copies.
extern PyMethodDef kCopyBenchmarkFunctions[];

}  // namespace refarray::extension
