// Process-wide settings of copies: the instruction set of the copy kernels and the thread count.
#pragma once

#include <Python.h>

namespace refarray::extension {

/// Applies the environment variables REFARRAY_ISA and REFARRAY_COPY_THREADS. Throws kValue for an
/// invalid value.
void read_copy_settings();

/// Module functions: set_copy_threads, get_copy_threads, _use_isa.
extern PyMethodDef kCopySettingFunctions[];

}  // namespace refarray::extension
