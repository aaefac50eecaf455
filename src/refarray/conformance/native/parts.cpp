// Entry point of the shipped build, refarray.conformance._adversary, which has no extra parts.
#include "kit_module.hpp"

namespace adversary {

void add_parts(PyObject*, ModuleState&) {}

}  // namespace adversary

PyMODINIT_FUNC PyInit__adversary() { return adversary::new_module(); }
