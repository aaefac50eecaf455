// Owns the shipped build of the adversary: refarray.conformance._adversary, without the tests'
// parts.
#include "module.hpp"

namespace adversary {

void add_parts(PyObject*, ModuleState&) {}

}  // namespace adversary

PyMODINIT_FUNC PyInit__adversary() { return adversary::new_module(); }
