// What stands for shared_functions.cpp where src/shared is not built: systems other than Linux.
#include "extension/shared/shared_functions.hpp"

namespace refarray::extension {

PyMethodDef kSharedFunctions[] = {{nullptr, nullptr, 0, nullptr}};

}  // namespace refarray::extension
