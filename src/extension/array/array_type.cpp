// The Python type Array: its slots and method tables.
#include <Python.h>
#include <structmember.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "dlpack/exchange_api.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copy_functions.hpp"
#include "extension/dlpack/c_tables.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/compute_hooks.hpp"
#include "extension/objects/namespace.hpp"
#include "extension/shared/shared_functions.hpp"

namespace refarray::extension {
namespace {

constexpr char kArrayDoc[] =
    R"doc(A strided n-dimensional array over its own or shared memory.

Arrays are created by functions such as asarray(), zeros() and from_dlpack(), not
by calling this type. Shape, strides, dtype and device never change; elements can
be assigned unless the array is read-only. A view shares the memory of its array
and keeps it alive; a view of a read-only array is read-only.

Several threads may use one array at the same time, but refarray does not
synchronize the elements: writing elements that another thread reads is a data
race.)doc";

constexpr char kArrayReprHtmlDoc[] = R"doc(_repr_html_($self, /)
--

Return the array as an HTML card for notebooks.)doc";

constexpr char kArrayAsReadonlyDoc[] = R"doc(as_readonly($self, /)
--

Return a read-only view.

Assignment through it, and through its views, raises ValueError. It shares the
memory and keeps it alive; other arrays over the same memory stay writable.
Extension of the array API.)doc";

constexpr char kArrayIsContiguousDoc[] = R"doc(is_contiguous($self, /)
--

Return whether the elements lie in row-major order without gaps.

The strides of axes of extent 1, and all strides of an empty array, are ignored.
Extension of the array API.)doc";

constexpr char kExchangeApiDoc[] =
    "The C exchange API of DLPack 1.3, a capsule named \"dlpack_exchange_api\".";

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
Ref format_with(const char* module, const char* function, PyObject* self) {
  const State& state = State::of_object(self);
  PyObject* const device = state.modes.with_devices ? state.get(Slot::kCpuDevice) : Py_None;
  return check(calling<PyObject_CallFunctionObjArgs>(
      python_function(module, function).get(), as_default_array(self).get(),
      namespace_name(state).get(), device, state.modes.off_host ? Py_True : Py_False, nullptr));
}
Ref array_repr(PyObject* self) { return format_with("refarray._display.text", "array_repr", self); }
Ref array_str(PyObject* self) { return format_with("refarray._display.text", "array_str", self); }
Ref array_html(PyObject* self, PyObject*) {
  return format_with("refarray._display.html", "array_html", self);
}

PyMethodDef kOwnMethods[] = {
    {"as_readonly", method<&as_readonly>(), METH_NOARGS, kArrayAsReadonlyDoc},
    {"is_contiguous", method<&is_contiguous>(), METH_NOARGS, kArrayIsContiguousDoc},
    {"_repr_html_", method<&array_html>(), METH_NOARGS, kArrayReprHtmlDoc},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weakrefs),
                           READONLY | kInOwnStruct, nullptr},
                          {nullptr, 0, 0, 0, nullptr}};

const char* name_of(const PyMethodDef& entry) noexcept { return entry.ml_name; }
const char* name_of(const PyGetSetDef& entry) noexcept { return entry.name; }

/// Joins the tables of several sources.
template <class Def>
std::vector<Def> joined(std::initializer_list<const Def*> tables) {
  std::vector<Def> out;
  for (const Def* table : tables) {
    for (const Def* entry = table; name_of(*entry) != nullptr; ++entry) out.push_back(*entry);
  }
  out.push_back(Def{});
  return out;
}

/// The entries that the arrays of a strict namespace have: attributes of the standard, and what
/// the modules copy and pickle need.
template <class Def>
std::vector<Def> of_standard(std::vector<Def> table) {
  constexpr std::string_view kNames[] = {"T",
                                         "__array__",
                                         "__array_namespace__",
                                         "__complex__",
                                         "__copy__",
                                         "__deepcopy__",
                                         "__dlpack__",
                                         "__dlpack_device__",
                                         "__reduce_ex__",
                                         "device",
                                         "dtype",
                                         "mT",
                                         "ndim",
                                         "shape",
                                         "size",
                                         "to_device"};
  std::erase_if(table, [&](const Def& entry) {
    return name_of(entry) != nullptr &&
           std::find(std::begin(kNames), std::end(kNames), name_of(entry)) == std::end(kNames);
  });
  return table;
}

// Attributes of types. With the limited API they are properties of the metaclass, which instances
// do not inherit: they have properties of their own.

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
/// None tells NumPy that its ufuncs do not take the array, on the type and on instances.
PyGetSetDef kNoUfuncs[] = {
    {"__array_ufunc__", [](PyObject*, void*) noexcept { return Ref::borrow(Py_None).release(); },
     nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyGetSetDef kTypeExchange[] = {
    {dlpack::kExchangeAttribute, exchange_api_of_type, nullptr, kExchangeApiDoc, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

/// Puts the methods of `others` in the places of those of the same names; adds new ones.
void replace(std::vector<PyMethodDef>& table, const PyMethodDef* others) {
  for (const PyMethodDef* other = others; other->ml_name != nullptr; ++other) {
    const auto found = std::find_if(table.begin(), table.end(), [other](const PyMethodDef& entry) {
      return entry.ml_name != nullptr && std::string_view(entry.ml_name) == other->ml_name;
    });
    if (found != table.end())
      *found = *other;
    else
      table.insert(table.begin(), *other);
  }
}

std::vector<PyMethodDef> make_methods(const Modes& modes) {
  std::vector<PyMethodDef> out =
      joined<PyMethodDef>({kManipulationMethods, kCopyMethods, kElementMethods, kByteMethods,
                           kPickleMethods, kExportMethods, kNumpyMethods, kNamespaceMethods,
                           kSharedMethods, kFileMethods, kGenericMethods, kOwnMethods});
  if (modes.strict) {
    out = of_standard(std::move(out));
    replace(out, kStrictExportMethods);
  }
  if (modes.lazy) replace(out, kLazyMethods);
  if (modes.with_devices) replace(out, kDeviceMethods);
  if (modes.off_host) replace(out, kOffHostMethods);
  return out;
}

/// Type objects keep pointers into the tables: there is one for each combination of modes.
PyMethodDef* methods_of(const Modes& modes) {
  constexpr std::size_t kTables = 16;
  static std::array<std::vector<PyMethodDef>, kTables> tables;
  static std::array<std::once_flag, kTables> made;
  const std::size_t at = (modes.strict ? 1u : 0u) | (modes.lazy ? 2u : 0u) |
                         (modes.with_devices ? 4u : 0u) | (modes.off_host ? 8u : 0u);
  std::call_once(made[at], [&] { tables[at] = make_methods(modes); });
  return tables[at].data();
}

PyGetSetDef* getters_of(const State& state) {
  static std::vector<PyGetSetDef> all = joined<PyGetSetDef>({kArrayGetters});
  static const auto with = [](std::vector<PyGetSetDef> table, PyGetSetDef* others) {
    return joined<PyGetSetDef>({table.data(), compat::kTypeKeepsAttribute ? kNoGetters : others});
  };
  static std::vector<PyGetSetDef> standard = with(of_standard(all), kNoUfuncs);
  static std::vector<PyGetSetDef> with_table = with(all, kInstanceExchange);
  static std::vector<PyGetSetDef> all_off_host = joined<PyGetSetDef>({all.data(), kOffHostGetters});
  static std::vector<PyGetSetDef> standard_off_host =
      joined<PyGetSetDef>({standard.data(), kOffHostGetters});
  const bool off_host = state.modes.off_host;
  if (state.modes.strict) return off_host ? standard_off_host.data() : standard.data();
  if (off_host) return all_off_host.data();
  return is_default(state) ? with_table.data() : all.data();
}

/// The slot of immutable arrays. Without it the interpreter's error would name the index.
void refuse_assignment(PyObject* self, PyObject*, PyObject*) {
  core::fail(core::Fault::kType, "the arrays of ",
             utf8(namespace_name(State::of_object(self)).get()),
             " are immutable; where() makes a new array");
}

void add_item_slots(std::vector<PyType_Slot>& slots, const Modes& modes) {
  const auto add = [&slots](int slot, void* pointer) { slots.push_back({slot, pointer}); };
  if (modes.immutable) add(Py_mp_ass_subscript, slot_pointer<&refuse_assignment>());
  if (modes.strict) {
    add(Py_tp_iter, slot_pointer<&strict_iter>());
    add(Py_mp_subscript, slot_pointer<&strict_subscript>());
    if (!modes.immutable) add(Py_mp_ass_subscript, slot_pointer<&strict_assign>());
    return;
  }
  add(Py_tp_iter, slot_pointer<&array_iter>());
  add(Py_mp_length, slot_pointer<&array_length>());
  add(Py_mp_subscript, slot_pointer<&array_subscript>());
  if (!modes.immutable) add(Py_mp_ass_subscript, slot_pointer<&array_assign>());
  add(Py_sq_length, slot_pointer<&array_length>());
  add(Py_sq_item, slot_pointer<&array_item>());
}

void add_number_slots(std::vector<PyType_Slot>& slots, const Modes& modes) {
  const bool lazy = modes.lazy;
  const PyType_Slot numbers[] = {
      {Py_nb_bool, lazy ? slot_pointer<&lazy_truth>() : slot_pointer<&array_truth>()},
      {Py_nb_int, lazy ? slot_pointer<&lazy_number>() : slot_pointer<&array_int>()},
      {Py_nb_float, lazy ? slot_pointer<&lazy_number>() : slot_pointer<&array_float>()},
      {Py_nb_index, lazy ? slot_pointer<&lazy_number>() : slot_pointer<&array_index>()},
  };
  slots.insert(slots.end(), std::begin(numbers), std::end(numbers));
}

std::vector<PyType_Slot> array_slots(const State& state) {
  std::vector<PyType_Slot> out{
      {Py_tp_doc, const_cast<char*>(kArrayDoc)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&array_dealloc)},
      {Py_tp_repr, slot_pointer<&array_repr>()},
      {Py_tp_str, slot_pointer<&array_str>()},
      {Py_tp_hash, reinterpret_cast<void*>(&PyObject_HashNotImplemented)},
      {Py_tp_methods, methods_of(state.modes)},
      {Py_tp_members, kMembers},
      {Py_tp_getset, getters_of(state)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(&array_getbuffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(&array_releasebuffer)},
  };
  add_number_slots(out, state.modes);
  add_item_slots(out, state.modes);
  add_operators(out, state.modes);
  out.push_back({0, nullptr});
  return out;
}

// The items of the variable-size object are axes: an extent and a stride each.
PyType_Spec array_spec(const char* name, PyType_Slot* slots) noexcept {
  constexpr auto kFlags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  return {name, kBasicSize<ArrayObject>, 2 * sizeof(std::int64_t), kFlags, slots};
}

/// A type that has an attribute itself: compat::make_type_with_attribute().
Ref make_type(PyObject* module, PyType_Spec& spec, const char* metaclass, PyGetSetDef* of_type,
              PyObject* value) {
  PyType_Slot slots[] = {{Py_tp_getset, of_type}, {0, nullptr}};
  PyType_Spec meta{metaclass, 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};
  return check(compat::make_type_with_attribute(module, &spec, &meta, of_type->name, value));
}

/// The array type of another namespace. It has no exchange table: from C, results could not name
/// their namespace.
Ref make_namespace_type(PyObject* module, const State& state) {
  std::vector<PyType_Slot> slots = array_slots(state);
  const Ref module_name = check(PyModule_GetNameObject(module));
  const std::string name = utf8(module_name.get()) + ".Array";
  PyType_Spec spec = array_spec(name.c_str(), slots.data());
  if (!state.modes.strict) return check(compat::new_type(module, &spec));
  // Without it NumPy's operators would read the array as one of theirs.
  return make_type(module, spec, "refarray.StrictArrayType", kNoUfuncs, Py_None);
}

}  // namespace

Ref make_array_type(PyObject* module, State& state) {
  if (!is_default(state)) return make_namespace_type(module, state);  // ends with the last array
  state.set(Slot::kExchangeCapsule, make_exchange_capsule());
  std::vector<PyType_Slot> slots = array_slots(state);
  PyType_Spec spec = array_spec("refarray.Array", slots.data());
  return compat::make_immortal(make_type(module, spec, "refarray.ArrayType", kTypeExchange,
                                         state.get(Slot::kExchangeCapsule)));
}

}  // namespace refarray::extension
