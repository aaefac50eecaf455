// Exporter: an object with the buffer protocol whose Py_buffer fields the test chooses, valid or
// not. It counts releases and poisons released memory.
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parts.hpp"

namespace adversary {
namespace {

constexpr int kPoison = 0xDD;

/// The behaviour of bf_getbuffer.
enum class Answer { kFill, kRaise, kFailSilently, kFillAndRaise };

/// The target of shape, strides or suboffsets.
struct IndexArray {
  Py_ssize_t* entries = nullptr;  // end at an inaccessible page
  std::size_t count = 0;
};

struct BufferSpec {
  std::vector<std::byte> bytes = std::vector<std::byte>(64);
  std::optional<std::uintptr_t> address;  // `buf`, instead of `bytes`
  Py_ssize_t data_offset = 0;
  std::optional<Py_ssize_t> len;
  Py_ssize_t itemsize = 4;
  std::optional<std::string> format = "f";
  int ndim = 1;
  bool readonly = false;
  bool owner = true;  // whether `obj` is the exporter or NULL
  IndexArray shape, strides, suboffsets;
  Answer answer = Answer::kFill;
  int gets = 0;
  int releases = 0;
};

struct ExporterObject {
  [[no_unique_address]] Head head;
  BufferSpec* spec;      // never freed, so that a late release does not crash
  PyObject* on_release;  // a callable or NULL
};

ExporterObject& self_of(PyObject* self) { return struct_of<ExporterObject>(self); }

Py_ssize_t to_size(PyObject* object) {
  return static_cast<Py_ssize_t>(to_int(object, PY_SSIZE_T_MIN, PY_SSIZE_T_MAX));
}

/// None means NULL. The entries of a sequence get their own pages.
IndexArray to_index_array(PyObject* value) {
  IndexArray out;
  if (value == Py_None) return out;
  const Ref items(PySequence_Tuple(value));
  out.count = static_cast<std::size_t>(PyTuple_GET_SIZE(items.get()));
  const std::size_t bytes = out.count * sizeof(Py_ssize_t);
  out.entries = reinterpret_cast<Py_ssize_t*>(Pages(bytes + 1).last(bytes));
  for (std::size_t i = 0; i < out.count; ++i) {
    out.entries[i] = to_size(PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)));
  }
  return out;
}

Answer to_answer(PyObject* value) {
  constexpr std::string_view kNames[] = {"fill", "raise", "fail silently", "fill and raise"};
  const char* text = PyUnicode_AsUTF8(value);
  if (text == nullptr) throw PythonError{};
  for (int i = 0; i < 4; ++i) {
    if (kNames[i] == text) return static_cast<Answer>(i);
  }
  fail(PyExc_ValueError, "unknown answer %R", value);
}

void set_bytes(BufferSpec& spec, PyObject* value) {
  spec.address.reset();
  if (value == Py_None || PyLong_Check(value)) {
    spec.address = value == Py_None ? 0 : to_uint64(value);
    return;
  }
  const Ref copy(PyBytes_FromObject(value));
  const auto* begin = reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(copy.get()));
  spec.bytes.assign(begin, begin + PyBytes_GET_SIZE(copy.get()));
}

void set_format(BufferSpec& spec, PyObject* value) {
  spec.format.reset();
  if (value == Py_None) return;
  const char* text = PyUnicode_AsUTF8(value);
  if (text == nullptr) throw PythonError{};
  spec.format = text;
}

struct Field {
  std::string_view name;
  void (*set)(BufferSpec&, PyObject*);
};
constexpr Field kFields[] = {
    {"data", set_bytes},
    {"data_offset", [](BufferSpec& s, PyObject* v) { s.data_offset = to_size(v); }},
    {"len", [](BufferSpec& s, PyObject* v) { s.len = to_size(v); }},
    {"itemsize", [](BufferSpec& s, PyObject* v) { s.itemsize = to_size(v); }},
    {"format", set_format},
    {"ndim",
     [](BufferSpec& s, PyObject* v) {
       s.ndim = static_cast<int>(
           to_int(v, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
     }},
    {"shape", [](BufferSpec& s, PyObject* v) { s.shape = to_index_array(v); }},
    {"strides", [](BufferSpec& s, PyObject* v) { s.strides = to_index_array(v); }},
    {"suboffsets", [](BufferSpec& s, PyObject* v) { s.suboffsets = to_index_array(v); }},
    {"readonly", [](BufferSpec& s, PyObject* v) { s.readonly = PyObject_IsTrue(v) == 1; }},
    {"owner", [](BufferSpec& s, PyObject* v) { s.owner = PyObject_IsTrue(v) == 1; }},
    {"answer", [](BufferSpec& s, PyObject* v) { s.answer = to_answer(v); }},
};

PyObject* exporter(PyObject* module, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    if (PyTuple_GET_SIZE(args) != 0) fail(PyExc_TypeError, "exporter() takes keywords only");
    PyTypeObject* type = state_of(module).exporter_type;
    Ref out(type->tp_alloc(type, 0));
    ExporterObject& self = self_of(out.get());
    static std::vector<BufferSpec*>& kept = *new std::vector<BufferSpec*>;
    self.spec = kept.emplace_back(new BufferSpec);
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t position = 0;
    while (kwargs != nullptr && PyDict_Next(kwargs, &position, &key, &value) != 0) {
      const char* text = PyUnicode_AsUTF8(key);
      if (text == nullptr) throw PythonError{};
      if (std::string_view(text) == "on_release") {
        self.on_release = Py_NewRef(value);
        continue;
      }
      const Field* found = nullptr;
      for (const Field& field : kFields) {
        if (field.name == text) found = &field;
      }
      if (found == nullptr) fail(PyExc_TypeError, "a buffer has no field %R", key);
      found->set(*self.spec, value);
    }
    return out.release();
  });
}

/// Ignores the requested flags.
int get_buffer(PyObject* self, Py_buffer* out, int) noexcept {
  BufferSpec& spec = *self_of(self).spec;
  out->obj = nullptr;
  if (spec.answer == Answer::kRaise) PyErr_SetString(PyExc_BufferError, "the exporter refuses");
  if (spec.answer == Answer::kRaise || spec.answer == Answer::kFailSilently) return -1;
  ++spec.gets;
  out->buf = spec.address ? reinterpret_cast<void*>(*spec.address)
                          : static_cast<void*>(spec.bytes.data() + spec.data_offset);
  out->obj = spec.owner ? Py_NewRef(self) : nullptr;
  out->len = spec.len.value_or(static_cast<Py_ssize_t>(spec.bytes.size()));
  out->itemsize = spec.itemsize;
  out->readonly = spec.readonly ? 1 : 0;
  out->ndim = spec.ndim;
  out->format = spec.format ? spec.format->data() : nullptr;
  out->shape = spec.shape.entries;
  out->strides = spec.strides.entries;
  out->suboffsets = spec.suboffsets.entries;
  out->internal = nullptr;
  if (spec.answer == Answer::kFillAndRaise) {
    PyErr_SetString(PyExc_RuntimeError, "raised although it succeeded");
  }
  return 0;
}

void release_buffer(PyObject* self, Py_buffer*) noexcept {
  BufferSpec& spec = *self_of(self).spec;
  ++spec.releases;
  for (const IndexArray& field : {spec.shape, spec.strides, spec.suboffsets}) {
    if (field.entries != nullptr)
      std::memset(field.entries, kPoison, field.count * sizeof(Py_ssize_t));
  }
  std::memset(spec.bytes.data(), kPoison, spec.bytes.size());
  if (self_of(self).on_release == nullptr) return;
  Py_XDECREF(PyObject_CallNoArgs(self_of(self).on_release));  // leaves its exception set
}

PyObject* get_gets(PyObject* self, void*) { return PyLong_FromLong(self_of(self).spec->gets); }
PyObject* get_releases(PyObject* self, void*) {
  return PyLong_FromLong(self_of(self).spec->releases);
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_CLEAR(self_of(self).on_release);
  type->tp_free(self);
  Py_DECREF(type);
}

PyGetSetDef exporter_getset[] = {
    {"gets", get_gets, nullptr, "How many buffers were exported.", nullptr},
    {"releases", get_releases, nullptr, "How many buffers were released.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot exporter_slots[] = {
    {Py_tp_getset, exporter_getset},
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {0, nullptr},
};
PyType_Spec exporter_spec = {"adversary.Exporter", kBasicSize<ExporterObject>, 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             exporter_slots};

PyMethodDef functions[] = {
    {"exporter", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(exporter)),
     METH_VARARGS | METH_KEYWORDS, "Return an Exporter with the given Py_buffer fields."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_exporter(PyObject* module, ModuleState& state) {
  state.exporter_type = add_type(module, exporter_spec);
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonError{};
}

}  // namespace adversary
