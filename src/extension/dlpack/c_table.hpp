// The capsule around the C table of include/refarray/python/c_api.h.
#pragma once

#include <Python.h>

#include "extension/capi/ref.hpp"

namespace refarray::extension {

/// A new capsule "refarray._C_API". The table in it is static: it outlives the module, the capsule
/// and the interpreter.
Ref make_c_table_capsule();

}  // namespace refarray::extension
