// The parts that only the tests' build of the adversary has.
#pragma once

#include "kit_module.hpp"

namespace adversary {

void add_exporter(PyObject* module, ModuleState& state);
void add_faults(PyObject* module);
void add_flipper(PyObject* module);
void add_lockstep(PyObject* module);
void add_mutants(PyObject* module);

}  // namespace adversary
