// Owns look-ups on producers' types, through descriptors and the method resolution order, and
// remembering the answers.
#include "extension/dlpack/producer.hpp"

#include <cstring>

#include "dlpack/exchange_api.hpp"
#include "extension/capi/errors.hpp"
#include "extension/capi/gil.hpp"
#include "extension/capi/methods.hpp"

namespace refarray::extension {
namespace {

struct Found {
  Ref value;           // empty: not there
  Py_ssize_t at = -1;  // position in the method resolution order
};

/// As type(x).__dict__ along the MRO says: neither the instance nor a metaclass can fabricate an
/// answer.
Found find_on_type(const State& state, PyTypeObject* type, PyObject* name) {
  const Ref mro = check(
      calling<PyObject_GetAttr>(reinterpret_cast<PyObject*>(type), state.get(Slot::kMroName)));
  const Py_ssize_t count = PyTuple_Check(mro.get()) ? PyTuple_Size(mro.get()) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* base = PyTuple_GetItem(mro.get(), i);
    const Ref dict = check(calling<PyObject_GetAttr>(base, state.get(Slot::kDictName)));
    if (check(calling<PySequence_Contains>(dict.get(), name)) == 0) continue;
    Ref value = Ref::steal(calling<PyObject_GetItem>(dict.get(), name));
    if (value) return {std::move(value), i};
    if (PyErr_ExceptionMatches(PyExc_KeyError) == 0) throw ErrorSet{};
    PyErr_Clear();  // another thread has just taken it away
  }
  return {};
}

bool is_immutable(PyTypeObject* type) noexcept {
  const unsigned long flags = PyType_GetFlags(type);
  return (flags & Py_TPFLAGS_HEAPTYPE) == 0 || (flags & Py_TPFLAGS_IMMUTABLETYPE) != 0;
}

bool is_named(PyObject* object, const char* attribute, const char* expected) {
  const Ref text = check(PyObject_GetAttrString(object, attribute));
  return PyUnicode_Check(text.get()) && PyUnicode_CompareWithASCIIString(text.get(), expected) == 0;
}

/// NumPy's own __dlpack_device__: an ndarray is in host memory by definition, so there is no stream
/// to choose and the call (a quarter of an exchange) can be spared. A subclass with a dunder of its
/// own is asked like everybody else.
bool is_numpys(PyObject* descriptor) {
  Ref owner = Ref::steal(PyObject_GetAttrString(descriptor, "__objclass__"));
  if (!owner) {
    PyErr_Clear();  // not a C method: not NumPy's
    return false;
  }
  return PyType_Check(owner.get()) && is_immutable(reinterpret_cast<PyTypeObject*>(owner.get())) &&
         is_named(owner.get(), "__name__", "ndarray") &&
         is_named(owner.get(), "__module__", "numpy");
}

const DLPackExchangeAPI* table_in(PyObject* capsule) noexcept {
  if (!PyCapsule_IsValid(capsule, dlpack::kExchangeCapsule))
    return nullptr;  // None, an int, another name
  return dlpack::usable_table(static_cast<const DLPackExchangeAPI*>(
      PyCapsule_GetPointer(capsule, dlpack::kExchangeCapsule)));
}

const DLPackExchangeAPI* find_table_beside(State& state, PyTypeObject* type, Py_ssize_t dlpack_at) {
  const Found own = find_on_type(state, type, state.get(Slot::kExchangeName));
  if (own.at >= 0 && dlpack_at >= 0 && dlpack_at < own.at) return nullptr;
  const Ref capsule = Ref::steal(
      calling<PyObject_GetAttr>(reinterpret_cast<PyObject*>(type), state.get(Slot::kExchangeName)));
  if (capsule) return table_in(capsule.get());
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw ErrorSet{};
  PyErr_Clear();
  return nullptr;
}

}  // namespace

Offer look_up(State& state, PyObject* producer) {
  PyTypeObject* type = Py_TYPE(producer);
  const Producer* known = state.find_producer(reinterpret_cast<PyObject*>(type));
  if (known != nullptr) return remembered(*known);
  const Ref held =
      Ref::borrow(reinterpret_cast<PyObject*>(type));  // a metaclass may be running code meanwhile
  Offer offer;
  Found dlpack = find_on_type(state, type, state.get(Slot::kDlpackName));
  offer.hold(std::move(dlpack.value),
             find_on_type(state, type, state.get(Slot::kDlpackDeviceName)).value);
  offer.table = find_table_beside(state, type, dlpack.at);
  if (is_immutable(type) && offer.is_complete()) {
    offer.host_only = is_numpys(offer.dlpack_device);
    state.remember_producer(
        {held.get(), offer.dlpack, offer.dlpack_device, offer.table, offer.host_only});
  } else if (offer.table !=
             nullptr) {  // only the table: the standard lets consumers keep that per type (CAPI-03)
    state.remember_producer({held.get(), nullptr, nullptr, offer.table, false});
  }
  return offer;
}

void find_dunders(const State& state, PyObject* producer, Offer& offer) {
  if (offer.dlpack != nullptr || offer.dlpack_device != nullptr) return;
  Ref dlpack = find_on_type(state, Py_TYPE(producer), state.get(Slot::kDlpackName)).value;
  offer.hold(std::move(dlpack),
             find_on_type(state, Py_TYPE(producer), state.get(Slot::kDlpackDeviceName)).value);
}

Ref find_on_type_of(const State& state, PyObject* object, PyObject* name) {
  return find_on_type(state, Py_TYPE(object), name).value;
}

void raise_missing_dunders(PyObject* producer, const Offer& offer) {
  const char* lacks = offer.dlpack != nullptr          ? "__dlpack_device__"
                      : offer.dlpack_device != nullptr ? "__dlpack__"
                                                       : "__dlpack__ and __dlpack_device__";
  const char* hint =
      PyCapsule_CheckExact(producer) ? "; a bare capsule goes to from_capsule()" : "";
  raise(PyExc_AttributeError, "from_dlpack(): the type %R has no %s%s",
        reinterpret_cast<PyObject*>(Py_TYPE(producer)), lacks, hint);
}

Ref call_on_type(PyObject* descriptor, PyObject* const* args, std::size_t count,
                 PyObject* kwnames) {
  PyTypeObject* kind = Py_TYPE(descriptor);
  if ((PyType_GetFlags(kind) & Py_TPFLAGS_METHOD_DESCRIPTOR) !=
      0) {  // functions: no bound object is needed
    return check(compat::park_at_exit(
        [&] { return PyObject_Vectorcall(descriptor, args, count, kwnames); }));
  }
  PyObject* self = args[0];
  const auto get = reinterpret_cast<descrgetfunc>(PyType_GetSlot(kind, Py_tp_descr_get));
  const auto bind = [&] {
    return get(descriptor, self, reinterpret_cast<PyObject*>(Py_TYPE(self)));
  };
  const Ref bound = get == nullptr ? Ref::borrow(descriptor) : check(compat::park_at_exit(bind));
  return check(compat::park_at_exit(
      [&] { return PyObject_Vectorcall(bound.get(), args + 1, count - 1, kwnames); }));
}

Producing producing(State& state, PyObject* object) {
  Offer offer = look_up(state, object);
  find_dunders(state, object, offer);
  if (offer.is_complete()) return Producing::kFully;
  return offer.table != nullptr ? Producing::kByTableOnly : Producing::kNot;
}

}  // namespace refarray::extension
