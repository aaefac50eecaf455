// Entry point of the shipped build, refarray.conformance._adversary, which has no extra parts.
#include "kit_module.hpp"

namespace adversary {

void add_parts(PyObject*, ModuleState&) {}

}  // namespace adversary

ADVERSARY_ENTRY_POINT(_adversary) { return adversary::new_module(); }
