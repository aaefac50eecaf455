// Declarations of what arrays and the module have for memory shared between processes.
#pragma once

#include "extension/capi/state.hpp"

namespace refarray::extension {

extern PyMethodDef kSharedFunctions[];   // shared_functions.cpp: private
extern PyMethodDef kOverlapFunctions[];  // shared_methods.cpp: shares_memory
extern PyMethodDef kSharedMethods[];     // shared_methods.cpp: is_shared, shared_handle

}  // namespace refarray::extension
