// Lookup of attributes on types: through the interpreter's type cache, or class by class.
#include "extension/capi/lookup.hpp"

#include "extension/capi/state.hpp"
#include "runtime/drivers/library.hpp"

namespace refarray::extension {
namespace {

// The interpreter's own lookup. It returns nullptr without an exception if there is no attribute.
#if defined(Py_LIMITED_API)
/// The stable ABI has no function that reads the type cache without binding the attribute.
/// CPython 3.12 to 3.14 export one, with this signature; it returns a borrowed reference, which the
/// GIL protects. In other versions every lookup walks the MRO.
using Lookup = PyObject* (*)(PyTypeObject*, PyObject*);
const auto cached_lookup =
    Py_Version < 0x030F0000 ? reinterpret_cast<Lookup>(runtime::symbol_of_process("_PyType_Lookup"))
                            : nullptr;
bool can_use_cache() noexcept { return cached_lookup != nullptr; }
Ref look_up(PyTypeObject* type, PyObject* name) noexcept {
  return Ref::borrow(cached_lookup(type, name));
}
#elif PY_VERSION_HEX >= 0x030D0000
constexpr bool can_use_cache() noexcept { return true; }
Ref look_up(PyTypeObject* type, PyObject* name) noexcept {
  return Ref::steal(_PyType_LookupRef(type, name));
}
#else
constexpr bool can_use_cache() noexcept { return true; }
Ref look_up(PyTypeObject* type, PyObject* name) noexcept {
  return Ref::borrow(_PyType_Lookup(type, name));
}
#endif

/// The getter's value for `type`. A metaclass cannot override it, unlike an attribute of the type.
Ref get_from(PyObject* getter, PyObject* type) {
  const descrgetfunc get = compat::descr_get_of(Py_TYPE(getter));
  return check(get(getter, type, reinterpret_cast<PyObject*>(Py_TYPE(type))));
}

}  // namespace

Ref getter_of_type(const char* name) {
  const Ref dict =
      check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyType_Type), "__dict__"));
  return check(PyMapping_GetItemString(dict.get(), name));
}

Ref walk_mro(const State& state, PyTypeObject* type, PyObject* name) {
  const Ref mro = get_from(state.get(Slot::kMroGetter), reinterpret_cast<PyObject*>(type));
  const Py_ssize_t count = PyTuple_Check(mro.get()) ? PyTuple_Size(mro.get()) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref dict = get_from(state.get(Slot::kDictGetter), PyTuple_GetItem(mro.get(), i));
    if (check(calling<PySequence_Contains>(dict.get(), name)) == 0) continue;
    Ref value = Ref::steal(calling<PyObject_GetItem>(dict.get(), name));
    if (value) return value;
    if (PyErr_ExceptionMatches(PyExc_KeyError) == 0) throw ErrorSet{};
    compat::clear_raised();  // another thread has just deleted it
  }
  return {};
}

Ref find_on_type(const State& state, PyTypeObject* type, PyObject* name) {
  return can_use_cache() ? look_up(type, name) : walk_mro(state, type, name);
}

}  // namespace refarray::extension
