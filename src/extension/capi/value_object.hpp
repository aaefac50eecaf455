// Common base of DType and Device: a final, immutable Python object that wraps a C++ value with a
// name. It equals objects of the same value, its name, and what stands for it in other libraries;
// in strict namespaces the first only.
#pragma once

#include <Python.h>

#include <atomic>
#include <optional>
#include <string>

#include "extension/capi/errors.hpp"
#include "extension/capi/free_threading.hpp"
#include "extension/capi/ref.hpp"
#include "extension/capi/shared_docs.hpp"
#include "extension/capi/state.hpp"

namespace refarray::extension {

/// GC-tracked although it refers to its type only: the module state holds some of these objects,
/// and the collector must see the cycle type -> module -> object -> type when the interpreter ends.
template <class Value>
struct ValueObject {
  PyObject head;
  std::atomic<Py_hash_t> hash;  // -1: not computed yet; racing threads compute the same value
  Value value;

  static ValueObject* cast(PyObject* self) noexcept { return reinterpret_cast<ValueObject*>(self); }
};

template <class Value>
const Value& value_in(PyObject* self) noexcept {
  return ValueObject<Value>::cast(self)->value;
}

template <class Value>
Ref new_value_object(PyTypeObject* type, const Value& value) {
  auto* self = compat::park_at_exit([type] { return PyObject_GC_New(ValueObject<Value>, type); });
  if (self == nullptr) throw ErrorSet{};
  self->hash.store(-1, std::memory_order_relaxed);
  self->value = value;
  PyObject_GC_Track(self);
  return Ref::steal(reinterpret_cast<PyObject*>(self));
}

inline int traverse_value(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

inline void dealloc_value(PyObject* self) noexcept {
  const Ref type =
      Ref::steal(reinterpret_cast<PyObject*>(Py_TYPE(self)));  // instances own their heap type
  PyObject_GC_UnTrack(self);
  PyObject_GC_Del(self);
}

/// tp_str: the value's name.
template <class Value>
Ref value_text(PyObject* self) {
  const std::string text = core::name(value_in<Value>(self));
  return check(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

/// hash(x) == hash(str(x)), because x == str(x) unless x is of a strict namespace. Objects of other
/// libraries that equal x have hashes of their own, as those of NumPy's dtypes and their names
/// differ.
template <class Value>
Py_hash_t value_hash(PyObject* self) {
  auto& cached = ValueObject<Value>::cast(self)->hash;
  Py_hash_t hash = cached.load(std::memory_order_relaxed);
  if (hash != -1) return hash;
  hash = check_number<PyObject_Hash>(value_text<Value>(self).get());
  cached.store(hash, std::memory_order_relaxed);
  return hash;
}

/// Equal if `kLike` converts `other` to the same value. NotImplemented for what it cannot convert,
/// so that the other operand is asked.
template <class Value, auto kLike, bool kHasName>
Ref value_compare(PyObject* self, PyObject* other, int operation) {
  if (operation != Py_EQ && operation != Py_NE) return Ref::borrow(Py_NotImplemented);
  const Value& own = value_in<Value>(self);
  bool equal = kHasName && PyUnicode_Check(other) &&  // a shortcut: kLike knows the name too
               PyUnicode_CompareWithASCIIString(other, core::name(own).c_str()) == 0;
  if (!equal) {
    const std::optional<Value> value = kLike(State::of_object(self), other);
    if (!value) return Ref::borrow(Py_NotImplemented);
    equal = *value == own;
  }
  return Ref::borrow(equal == (operation == Py_EQ) ? Py_True : Py_False);
}

/// __reduce__(): pickles the name, which determines the value.
template <class Value>
Ref value_reduce(PyObject* self, PyObject*) {
  const Ref text = value_text<Value>(self);
  return check(
      calling<Py_BuildValue>("(O(O))", reinterpret_cast<PyObject*>(Py_TYPE(self)), text.get()));
}

/// Parses the argument of DType(name) and Device(name); returns it as a borrowed reference.
inline PyObject* only_argument(PyObject* args, PyObject* kwargs, const char* format) {
  const char* const names[] = {"name", nullptr};
  PyObject* out = nullptr;
  parse_arguments(args, kwargs, format, names, &out);
  return out;
}

/// Creates the type of such objects; `kNew` is its tp_new, `kRepr` its tp_repr, `kLike` converts
/// objects that are equal to one of them, of which names are some if `kHasName`.
template <class Value, auto kNew, auto kRepr, auto kLike, bool kHasName = true>
Ref make_value_type(PyObject* module, const char* name, const char* doc, PyGetSetDef* getters) {
  static PyMethodDef methods[] = {
      {"__reduce__", method<&value_reduce<Value>>(), METH_NOARGS, kValueReduceDoc},
      {nullptr, nullptr, 0, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(doc)},
      {Py_tp_new, slot_pointer<kNew>()},
      {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc_value)},
      {Py_tp_traverse, reinterpret_cast<void*>(&traverse_value)},
      {Py_tp_repr, slot_pointer<kRepr>()},
      {Py_tp_str, slot_pointer<&value_text<Value>>()},
      {Py_tp_hash, slot_pointer<&value_hash<Value>>()},
      {Py_tp_richcompare, slot_pointer<&value_compare<Value, kLike, kHasName>>()},
      {Py_tp_getset, getters},
      {Py_tp_methods, methods},
      {0, nullptr},
  };
  PyType_Spec spec{name, static_cast<int>(sizeof(ValueObject<Value>)), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, slots};
  return compat::make_immortal(check(compat::new_type(module, &spec)));
}

}  // namespace refarray::extension
