// Where the C struct of our objects lies. With abi3t, the stable ABI of CPythons with and without a
// GIL, PyObject has no known size: the struct lies behind it.
#pragma once

#include <Python.h>

namespace refarray::extension {

#if defined(Py_TARGET_ABI3T)

/// The first member of the struct of an object.
struct Head {};
/// The first member of the struct of an object of variable size. The interpreter sees nothing but
/// an object behind which it may write the number of items.
struct VarHead {
  Py_ssize_t size;
};

/// The struct of an object whose type is final.
template <class Struct>
Struct* own_struct(PyObject* object) noexcept {
  return static_cast<Struct*>(PyObject_GetTypeData(object, Py_TYPE(object)));
}

/// PyType_Spec::basicsize: negative is what the type adds to its base.
template <class Struct>
inline constexpr int kBasicSize = -static_cast<int>(sizeof(Struct));
/// The flag of a PyMemberDef whose offset is that of a member of the struct.
inline constexpr int kInOwnStruct = Py_RELATIVE_OFFSET;

template <class Struct>
Py_ssize_t items_of(PyObject* object) noexcept {
  return own_struct<Struct>(object)->head.size;
}
template <class Struct>
void set_items(PyObject* object, Py_ssize_t count) noexcept {
  own_struct<Struct>(object)->head.size = count;
}

#else

struct Head {
  PyObject object;
};
struct VarHead {
  PyVarObject object;
};

template <class Struct>
Struct* own_struct(PyObject* object) noexcept {
  return reinterpret_cast<Struct*>(object);
}

template <class Struct>
inline constexpr int kBasicSize = static_cast<int>(sizeof(Struct));
inline constexpr int kInOwnStruct = 0;

template <class Struct>
Py_ssize_t items_of(PyObject* object) noexcept {
  return Py_SIZE(object);
}
template <class Struct>
void set_items(PyObject*, Py_ssize_t) noexcept {}  // PyObject_NewVar() has done it

#endif

/// A new object of a type with such a struct, the members of which are uninitialized; nullptr with
/// MemoryError set when out of memory.
template <class Struct>
PyObject* new_var_object(PyTypeObject* type, Py_ssize_t items) noexcept {
  auto* made = reinterpret_cast<PyObject*>(PyObject_NewVar(PyVarObject, type, items));
  if (made != nullptr) set_items<Struct>(made, items);
  return made;
}

}  // namespace refarray::extension
