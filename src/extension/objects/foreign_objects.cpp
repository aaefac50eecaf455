// Finds the methods of protocols, and the classes of NumPy that matter.
#include "extension/objects/foreign_objects.hpp"

#include <utility>

#include "extension/capi/lookup.hpp"

namespace refarray::extension {
namespace {

/// A class of NumPy, remembered in `slot`; nullptr as long as its module has not been imported.
PyTypeObject* find_class(const State& state, Slot slot, Slot module_name, const char* name) {
  if (PyObject* known = state.get(slot)) return reinterpret_cast<PyTypeObject*>(known);
  const Ref module = imported_module(state.get(module_name));
  if (!module) return nullptr;
  Ref found = Ref::steal(calling<PyObject_GetAttrString>(module.get(), name));
  if (!found && PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw ErrorSet{};
  compat::clear_raised();  // sys.modules has None or another module under this name, or it is being
                           // imported
  if (!found || PyType_Check(found.get()) == 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(state.set_once(slot, std::move(found)));
}

}  // namespace

Ref find_protocol(const State& state, PyTypeObject* type, PyObject* name) {
  Ref found = find_on_type(state, type, name);
  return found.get() == Py_None ? Ref() : std::move(found);
}

bool was_entered(PyObject* error) {
  const Ref entry = Ref::steal(PyException_GetTraceback(error));
  if (!entry || entry.get() == Py_None) return false;
  const auto member = [](const Ref& object, const char* name) {
    return check(calling<PyObject_GetAttrString>(object.get(), name));
  };
  if (member(entry, "tb_next").get() != Py_None) return true;
  const Ref variables = member(member(member(entry, "tb_frame"), "f_code"), "co_nlocals");
  return check(PyLong_AsLong(variables.get())) != 0;
}

void chain_errors(PyObject* second, Ref first) noexcept {
  constexpr int kDeepest = 64;  // user code can make the chain cyclic
  Ref last = Ref::borrow(second);
  for (int depth = 0; depth < kDeepest && last.get() != first.get(); ++depth) {
    Ref older = Ref::steal(PyException_GetContext(last.get()));
    if (!older) return PyException_SetContext(last.get(), first.release());
    last = std::move(older);
  }
}

bool is_ndarray(const State& state, PyTypeObject* type) {
  return find_class(state, Slot::kNdarray, Slot::kNumpyName, "ndarray") == type;
}

void refuse_masked(const State& state, PyObject* object) {
  if (PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) == 0) return;  // a class in Python
  auto* masked = reinterpret_cast<PyTypeObject*>(state.get(Slot::kMaskedArray));
  if (masked == nullptr) {
    // With the property `mask`: other objects do not cost the lookup of numpy.ma in sys.modules,
    // which is repeated as long as nothing imports it.
    if (!find_on_type(state, Py_TYPE(object), state.get(Slot::kMaskName))) return;
    masked = find_class(state, Slot::kMaskedArray, Slot::kNumpyMaName, "MaskedArray");
  }
  if (masked == nullptr || PyType_IsSubtype(Py_TYPE(object), masked) == 0) return;
  refuse_protocol("the mask of a ", type_name(object),
                  " would be lost; pass x.filled(value) to replace the masked elements, or x.data "
                  "to include them");
}

}  // namespace refarray::extension
