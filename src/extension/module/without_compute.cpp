// Stands for the part that computes in a build without it: there are no functions and no operators,
// so that the interpreter does what it does for NotImplemented.
#include "extension/capi/errors.hpp"
#include "extension/objects/compute_hooks.hpp"

namespace refarray::extension {
namespace {

[[noreturn]] void refuse_index() {
  raise(PyExc_NotImplementedError,
        "indexing by an array needs the part that computes, which this build of refarray lacks");
}

}  // namespace

void add_computing_functions(PyObject*) {}
void add_operators(std::vector<PyType_Slot>&, const Modes&) {}
Ref get_by_arrays(State&, const core::ArrayView&, Index&) { refuse_index(); }
void assign_by_arrays(State&, const core::ArrayView&, Index&, PyObject*) { refuse_index(); }

}  // namespace refarray::extension
