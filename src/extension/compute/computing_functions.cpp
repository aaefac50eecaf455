// The functions that compute: those of the module, and those of the standard's extensions, which
// modules of their own have.
#include <string>
#include <vector>

#include "core/error.hpp"
#include "extension/capi/errors.hpp"
#include "extension/compute/tables.hpp"
#include "extension/objects/compute_hooks.hpp"

namespace refarray::extension {
namespace {

/// The tables of an extension.
std::vector<PyMethodDef*> tables_of(PyObject* name) {
  const std::string text = utf8(name);
  if (text == "fft") return {kTransformFunctions, kFrequencyFunctions};
  if (text == "linalg") {
    return {kDecompositionFunctions, kDiagonalFunctions, kNormFunctions,
            kRankFunctions,          kSystemFunctions,   kVectorFunctions};
  }
  core::fail(core::Fault::kValue, "there is no extension ", short_repr(name));
}

/// New functions that belong to the module refarray.<name>, in a dict.
Ref extension_functions(PyObject* module, PyObject* name) {
  const std::vector<PyMethodDef*> tables = tables_of(name);
  const Ref owner = check(PyUnicode_FromFormat("refarray.%U", name));
  Ref out = check(PyDict_New());
  for (PyMethodDef* table : tables) {
    for (PyMethodDef* each = table; each->ml_name != nullptr; ++each) {
      const Ref function = check(PyCFunction_NewEx(each, module, owner.get()));
      check(PyDict_SetItemString(out.get(), each->ml_name, function.get()));
    }
  }
  return out;
}

PyMethodDef kExtensionFunctions[] = {
    {"_extension_functions", method<&extension_functions>(), METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_computing_functions(PyObject* module) {
  for (PyMethodDef* table :
       {kSelectionFunctions, elementwise_functions(), kTakingFunctions, kJoiningFunctions,
        kRepeatingFunctions, kBroadcastingFunctions, kReductionFunctions, kSortingFunctions,
        kSetFunctions, kLinearAlgebraFunctions, kExtensionFunctions}) {
    check(PyModule_AddFunctions(module, table));
  }
}

}  // namespace refarray::extension
