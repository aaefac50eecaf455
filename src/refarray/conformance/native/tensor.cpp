// The Python type Tensor, which wraps a FakeTensor, and make(), which takes its fields as keywords.
#include <cstring>
#include <limits>
#include <string_view>

#include "kit_module.hpp"

namespace adversary {
namespace {

constexpr std::int64_t kMin32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMax32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

/// The keywords of make().
struct Draft {
  TensorFields fields;
  PyObject* device = nullptr;   // borrowed; the result of __dlpack_device__()
  PyObject* deleter = nullptr;  // borrowed; a callable to run in the deleter
  const char* name = nullptr;
  bool nameless = false;
  bool destructor = true;
};

TensorObject& self_of(PyObject* self) { return struct_of<TensorObject>(self); }

bool to_bool(PyObject* value) {
  if (!PyBool_Check(value)) fail(PyExc_TypeError, "%R is not a bool", value);
  return value == Py_True;
}

/// None means NULL, an int is a wild address, a sequence holds the entries.
Entries to_entries(PyObject* value) {
  Entries out;
  if (value == Py_None) return out;
  if (PyLong_Check(value)) {
    out.address = to_address(value);
    return out;
  }
  const Ref items(PySequence_Tuple(value));
  out.values.emplace();
  for (Py_ssize_t i = 0; i < PyTuple_Size(items.get()); ++i) {
    out.values->push_back(to_int(PyTuple_GetItem(items.get(), i), kMin64, kMax64));
  }
  return out;
}

/// Item `i` of a tuple that must have `count` items, as an int in [low, high].
std::int64_t item(PyObject* tuple, Py_ssize_t count, Py_ssize_t i, std::int64_t low,
                  std::int64_t high) {
  if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != count) {
    fail(PyExc_TypeError, "%R is not a tuple of %zd ints", tuple, count);
  }
  return to_int(PyTuple_GetItem(tuple, i), low, high);
}

void set_data(Draft& draft, PyObject* value) {
  draft.fields.bytes.reset();
  draft.fields.address = 0;
  if (value == Py_None) return;
  if (PyLong_Check(value)) {
    draft.fields.address = to_address(value);
    return;
  }
  const Ref copy(PyBytes_FromObject(value));
  const auto* begin = reinterpret_cast<const std::byte*>(PyBytes_AsString(copy.get()));
  draft.fields.bytes.emplace(begin, begin + PyBytes_Size(copy.get()));
}

void set_name(Draft& draft, PyObject* value) {
  draft.nameless = value == Py_None;
  if (draft.nameless) return;
  draft.name = PyUnicode_AsUTF8AndSize(value, nullptr);
  if (draft.name == nullptr) throw PythonError{};
}

void set_deleter(Draft& draft, PyObject* value) {
  draft.fields.deleter = value != Py_None;
  if (PyCallable_Check(value)) draft.deleter = value;
}

struct Field {
  std::string_view name;
  void (*set)(Draft&, PyObject*);
};

constexpr Field kFields[] = {
    {"versioned", [](Draft& d, PyObject* v) { d.fields.versioned = to_bool(v); }},
    {"version",
     [](Draft& d, PyObject* v) {
       d.fields.version = {static_cast<std::uint32_t>(item(v, 2, 0, 0, 0xFFFFFFFF)),
                           static_cast<std::uint32_t>(item(v, 2, 1, 0, 0xFFFFFFFF))};
     }},
    {"flags", [](Draft& d, PyObject* v) { d.fields.flags = to_uint64(v); }},
    {"device",
     [](Draft& d, PyObject* v) {
       d.fields.device_type = static_cast<std::int32_t>(item(v, 2, 0, kMin32, kMax32));
       d.fields.device_id = static_cast<std::int32_t>(item(v, 2, 1, kMin32, kMax32));
     }},
    {"dunder_device", [](Draft& d, PyObject* v) { d.device = v; }},
    {"ndim",
     [](Draft& d, PyObject* v) {
       d.fields.ndim = static_cast<std::int32_t>(to_int(v, kMin32, kMax32));
     }},
    {"shape", [](Draft& d, PyObject* v) { d.fields.shape = to_entries(v); }},
    {"strides", [](Draft& d, PyObject* v) { d.fields.strides = to_entries(v); }},
    {"dtype",
     [](Draft& d, PyObject* v) {
       d.fields.dtype = {static_cast<std::uint8_t>(item(v, 3, 0, 0, 255)),
                         static_cast<std::uint8_t>(item(v, 3, 1, 0, 255)),
                         static_cast<std::uint16_t>(item(v, 3, 2, 0, 65535))};
     }},
    {"data", set_data},
    {"data_offset", [](Draft& d, PyObject* v) { d.fields.data_offset = to_address(v); }},
    {"byte_offset", [](Draft& d, PyObject* v) { d.fields.byte_offset = to_uint64(v); }},
    {"manager_ctx", [](Draft& d, PyObject* v) { d.fields.manager_ctx = to_bool(v); }},
    {"deleter", set_deleter},
    {"guarded", [](Draft& d, PyObject* v) { d.fields.guarded = to_bool(v); }},
    {"frozen", [](Draft& d, PyObject* v) { d.fields.frozen = to_bool(v); }},
    {"unmapped_body", [](Draft& d, PyObject* v) { d.fields.unmapped_body = to_bool(v); }},
    {"name", set_name},
    {"destructor", [](Draft& d, PyObject* v) { d.destructor = to_bool(v); }},
};

void read_fields(Draft& draft, PyObject* kwargs) {
  draft.fields.shape.values = std::vector<std::int64_t>{3};
  draft.fields.bytes.emplace(std::size_t{64});
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t position = 0;
  while (kwargs != nullptr && PyDict_Next(kwargs, &position, &key, &value) != 0) {
    const char* text = PyUnicode_AsUTF8AndSize(key, nullptr);
    if (text == nullptr) throw PythonError{};
    const Field* found = nullptr;
    for (const Field& field : kFields) {
      if (field.name == text) found = &field;
    }
    if (found == nullptr) fail(PyExc_TypeError, "a managed tensor has no field %R", key);
    found->set(draft, value);
  }
}

/// Calls `callable` with the GIL and leaves its exception set, as a careless deleter would.
void run_hook(PyObject* callable) noexcept {
  park_at_exit([callable] {
    const PyGILState_STATE gil = PyGILState_Ensure();
    Py_XDECREF(PyObject_CallNoArgs(callable));
    Py_DECREF(callable);
    PyGILState_Release(gil);
  });
}

PyObject* make(PyObject* module, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    if (PyTuple_Size(args) != 0) fail(PyExc_TypeError, "make() takes keywords only");
    Draft draft;
    read_fields(draft, kwargs);
    const bool versioned = draft.fields.versioned;
    const auto type = draft.fields.device_type;
    const auto id = draft.fields.device_id;
    PyTypeObject* tensor_type = state_of(module).tensor_type;
    Ref out(allocate(tensor_type));
    TensorObject& self = self_of(out.get());
    self.device = draft.device == nullptr ? Ref(Py_BuildValue("(ii)", type, id)).release()
                                          : Py_NewRef(draft.device);
    self.tensor = &FakeTensor::make(std::move(draft.fields));
    self.tensor->name = draft.name == nullptr ? kNames[versioned] : draft.name;
    self.tensor->nameless = draft.nameless;
    self.tensor->destructor = draft.destructor;
    if (draft.deleter != nullptr) {
      self.tensor->hook = [callable = Py_NewRef(draft.deleter)] { run_hook(callable); };
    }
    return out.release();
  });
}

PyObject* capsule(PyObject* self, PyObject*) {
  return guarded([&] {
    FakeTensor& fake = *self_of(self).tensor;
    const char* name = fake.nameless ? nullptr : fake.name.c_str();
    for (const char* known : kNames) {
      if (!fake.nameless && fake.name == known) name = known;  // static, as LIFE-07 asks
    }
    void* managed = issue(self_of(self));
    PyObject* out = PyCapsule_New(managed, name, fake.destructor ? delete_unconsumed : nullptr);
    if (out == nullptr) fake.issued = false;  // no memory: the tensor was not exported
    return out;
  });
}

PyObject* dunder_dlpack(PyObject* self, PyObject*, PyObject*) { return capsule(self, nullptr); }

PyObject* dunder_device(PyObject* self, PyObject*) { return Py_NewRef(self_of(self).device); }

PyObject* delete_now(PyObject* self, PyObject*) {
  return guarded([&] {
    const FakeTensor& fake = *self_of(self).tensor;
    call_deleter(fake.managed(), fake.versioned());
    return Py_NewRef(Py_None);
  });
}

PyObject* expect_deletes(PyObject* self, PyObject* count) {
  return guarded([&] {
    self_of(self).tensor->expected_calls = static_cast<int>(to_int(count, 0, 1000));
    return Py_NewRef(self);
  });
}

PyObject* own_bytes(PyObject* self, PyObject*) {
  const FakeTensor& fake = *self_of(self).tensor;
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(fake.data()),
                                   static_cast<Py_ssize_t>(fake.data_size()));
}

/// Overwrites the first shape and stride entries after the export.
PyObject* scramble(PyObject* self, PyObject*) {
  const DLTensor& tensor = *self_of(self).tensor->dl_tensor();
  if (tensor.shape != nullptr) tensor.shape[0] = -77;
  if (tensor.strides != nullptr) tensor.strides[0] = -77;
  return Py_NewRef(Py_None);
}

PyObject* get_calls(PyObject* self, void*) {
  return PyLong_FromLong(self_of(self).tensor->deleter_calls());
}
PyObject* get_issued(PyObject* self, void*) {
  return PyBool_FromLong(self_of(self).tensor->issued);
}
PyObject* get_address(PyObject* self, void*) {
  return PyLong_FromVoidPtr(self_of(self).tensor->data());
}

void dealloc(PyObject* self) {
  Py_CLEAR(self_of(self).device);
  release(self);
}

PyMethodDef tensor_methods[] = {
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(dunder_dlpack)),
     METH_VARARGS | METH_KEYWORDS, "Return the capsule, ignoring all arguments."},
    {"__dlpack_device__", dunder_device, METH_NOARGS,
     "Return dunder_device, by default the struct's device."},
    {"capsule", capsule, METH_NOARGS, "Return the capsule; a second call raises RuntimeError."},
    {"delete", delete_now, METH_NOARGS,
     "Call the deleter, as a caller that still owns the tensor."},
    {"expect_deletes", expect_deletes, METH_O, "Set how often the deleter must run, for ledger()."},
    {"bytes", own_bytes, METH_NOARGS, "Return the current contents of the data buffer."},
    {"scramble", scramble, METH_NOARGS, "Overwrite the first shape and stride entries."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef tensor_getset[] = {
    {"deleter_calls", get_calls, nullptr, nullptr, nullptr},
    {"issued", get_issued, nullptr, nullptr, nullptr},
    {"address", get_address, nullptr, "The address of the data buffer, or 0.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot tensor_slots[] = {
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_getset},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {0, nullptr},
};
PyType_Spec tensor_spec = {"adversary.Tensor", kBasicSize<TensorObject>, 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, tensor_slots};

/// How often the deleter must run: once, if the tensor was exported under a name that consumers
/// accept.
int expected_calls(const FakeTensor& fake) {
  if (fake.expected_calls >= 0) return fake.expected_calls;
  const bool reachable = !fake.nameless && fake.name == kNames[fake.versioned()];
  return fake.issued && fake.fields().deleter && fake.destructor && reachable ? 1 : 0;
}

PyObject* ledger(PyObject*, PyObject* first) {
  return guarded([&] {
    Ref out(PyList_New(0));
    auto number = static_cast<Py_ssize_t>(to_int(first, 0, kMax64));
    for (const FakeTensor* fake : FakeTensor::since(static_cast<std::size_t>(number))) {
      const Ref row(Py_BuildValue("(nii)", number++, expected_calls(*fake), fake->deleter_calls()));
      if (PyList_Append(out.get(), row.get()) < 0) throw PythonError{};
    }
    return out.release();
  });
}

PyObject* made(PyObject*, PyObject*) { return PyLong_FromSize_t(FakeTensor::count()); }

PyMethodDef functions[] = {
    {"make", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(make)),
     METH_VARARGS | METH_KEYWORDS, "Return a Tensor with the given fields of its managed struct."},
    {"ledger", ledger, METH_O,
     "Return (number, expected, actual deleter calls) of every tensor from that number on."},
    {"made", made, METH_NOARGS, "Return how many tensors were made."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool is_tensor(PyObject* object) noexcept {
  return PyType_GetSlot(Py_TYPE(object), Py_tp_dealloc) == reinterpret_cast<void*>(dealloc);
}

void* issue(TensorObject& tensor) {
  if (tensor.tensor->issued.exchange(true)) {
    fail(PyExc_RuntimeError, "this managed tensor was exported before");
  }
  return tensor.tensor->managed();
}

void add_tensor(PyObject* module, ModuleState& state) {
  state.tensor_type = add_type(module, tensor_spec);
  add_functions(module, functions);
}

}  // namespace adversary
