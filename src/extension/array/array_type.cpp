// The Python type Array: its slots and method tables.
#include <Python.h>
#include <structmember.h>

#include <vector>

#include "dlpack/exchange_api.hpp"
#include "extension/array/docstrings_types.hpp"
#include "extension/array/object.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/free_threading.hpp"
#include "extension/capi/methods.hpp"
#include "extension/capi/modules.hpp"
#include "extension/copy/functions.hpp"
#include "extension/dlpack/exchange_table.hpp"
#include "extension/namespace/elementwise.hpp"

namespace refarray::extension {
namespace {

Ref as_readonly(PyObject* self, PyObject*) {
  core::ArrayView array = view_of(self);
  array.readonly = true;
  return make_array(State::of_object(self), array, core::StoragePtr::share(array.storage));
}

Ref is_contiguous(PyObject* self, PyObject*) {
  const core::ArrayView array = view_of(self);
  return check(PyBool_FromLong(core::is_c_contiguous(array.extents(), array.stride_span())));
}

/// Formatting is implemented in Python and imported on first use.
Ref format_with(const char* function, PyObject* self) {
  return check(calling<PyObject_CallFunctionObjArgs>(
      python_function("refarray._format", function).get(), self, nullptr));
}
Ref array_repr(PyObject* self) { return format_with("array_repr", self); }
Ref array_str(PyObject* self) { return format_with("array_str", self); }
Ref array_html(PyObject* self, PyObject*) { return format_with("array_html", self); }

PyMethodDef kOwnMethods[] = {
    {"as_readonly", method<&as_readonly>(), METH_NOARGS, kArrayAsReadonlyDoc},
    {"is_contiguous", method<&is_contiguous>(), METH_NOARGS, kArrayIsContiguousDoc},
    {"_repr_html_", method<&array_html>(), METH_NOARGS, kArrayReprHtmlDoc},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

const char* name_of(const PyMethodDef& entry) noexcept { return entry.ml_name; }
const char* name_of(const PyGetSetDef& entry) noexcept { return entry.name; }

/// Joins the tables of several sources. The result lives for the whole process: type objects keep
/// pointers into it.
template <class Def>
Def* joined(std::initializer_list<const Def*> tables) {
  static std::vector<Def> all = [&] {
    std::vector<Def> out;
    for (const Def* table : tables) {
      for (const Def* entry = table; name_of(*entry) != nullptr; ++entry) out.push_back(*entry);
    }
    out.push_back(Def{});
    return out;
  }();
  return all.data();
}

/// The attribute on instances. Only the limited API needs it: there the attribute of the type is a
/// property of the metaclass, which instances do not inherit.
PyObject* exchange_api_of_instance(PyObject* self, void*) noexcept {
  return Ref::borrow(State::of_object(self).get(Slot::kExchangeCapsule)).release();
}
/// The property of the metaclass. Raises AttributeError for a class that other code creates with
/// the metaclass: it has no module state.
PyObject* exchange_api_of_type(PyObject* type, void*) noexcept {
  void* state = PyType_GetModuleState(reinterpret_cast<PyTypeObject*>(type));
  if (state != nullptr) {
    return Ref::borrow(static_cast<State*>(state)->get(Slot::kExchangeCapsule)).release();
  }
  PyErr_Format(PyExc_AttributeError, "%R has no %s", type, dlpack::kExchangeAttribute);
  return nullptr;
}
PyGetSetDef kInstanceExchange[] = {
    {dlpack::kExchangeAttribute, exchange_api_of_instance, nullptr, kExchangeApiDoc, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyGetSetDef kNoGetters[] = {{nullptr, nullptr, nullptr, nullptr, nullptr}};
PyGetSetDef kTypeExchange[] = {
    {dlpack::kExchangeAttribute, exchange_api_of_type, nullptr, kExchangeApiDoc, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

std::vector<PyType_Slot> array_slots() {
  return {
      {Py_tp_doc, const_cast<char*>(kArrayDoc)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&array_dealloc)},
      {Py_tp_repr, slot_pointer<&array_repr>()},
      {Py_tp_str, slot_pointer<&array_str>()},
      {Py_tp_iter, slot_pointer<&array_iter>()},
      {Py_tp_hash, reinterpret_cast<void*>(&PyObject_HashNotImplemented)},
      {Py_tp_methods, joined<PyMethodDef>({kManipulationMethods, kCopyMethods, kElementMethods,
                                           kByteMethods, kPickleMethods, kExportMethods,
                                           kNumpyMethods, kNamespaceMethods, kOwnMethods})},
      {Py_tp_members, kMembers},
      {Py_tp_getset,
       joined<PyGetSetDef>(
           {kArrayGetters, compat::kTypeKeepsAttribute ? kNoGetters : kInstanceExchange})},
      {Py_mp_length, slot_pointer<&array_length>()},
      {Py_mp_subscript, slot_pointer<&array_subscript>()},
      {Py_mp_ass_subscript, slot_pointer<&array_assign>()},
      {Py_sq_length, slot_pointer<&array_length>()},
      {Py_sq_item, slot_pointer<&array_item>()},
      {Py_nb_bool, slot_pointer<&array_truth>()},
      {Py_nb_int, slot_pointer<&array_int>()},
      {Py_nb_float, slot_pointer<&array_float>()},
      {Py_nb_index, slot_pointer<&array_index>()},
      {Py_bf_getbuffer, reinterpret_cast<void*>(&array_getbuffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(&array_releasebuffer)},
  };
}

}  // namespace

Ref make_array_type(PyObject* module, State& state) {
  state.set(Slot::kExchangeCapsule, make_exchange_capsule());
  std::vector<PyType_Slot> slots = array_slots();
  add_operators(slots);
  slots.push_back({0, nullptr});
  constexpr auto kFlags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  // The items of the variable-size object are axes: an extent and a stride each.
  PyType_Spec spec{"refarray.Array", sizeof(ArrayObject), 2 * sizeof(std::int64_t), kFlags,
                   slots.data()};
  PyType_Slot meta_slots[] = {{Py_tp_getset, kTypeExchange}, {0, nullptr}};
  PyType_Spec meta{"refarray.ArrayType", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                   meta_slots};
  return compat::make_immortal(check(compat::make_type_with_attribute(
      module, &spec, &meta, dlpack::kExchangeAttribute, state.get(Slot::kExchangeCapsule))));
}

}  // namespace refarray::extension
