// Entry point of the tests' build of the adversary: the shipped one plus the files in this folder.
#include "parts.hpp"

namespace adversary {

void add_parts(PyObject* module, ModuleState& state) {
  add_exporter(module, state);
  add_faults(module);
  add_flipper(module);
  add_lockstep(module);
  add_mutants(module);
}

}  // namespace adversary

ADVERSARY_ENTRY_POINT(adversary) { return adversary::new_module(); }
