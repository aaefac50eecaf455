// Owns the parsing of the exchange protocol's keywords.
#include "protocol.hpp"

#include "errors.hpp"
#include "refarray/core/error.hpp"

namespace refarray::python {
namespace {

/// An int that may be of any size: beyond int64 it is held at the end of the range.
std::int64_t clamped_int(PyObject* object, const char* what) {
  Ref index;
  if (!PyLong_Check(object)) {
    if (!PyIndex_Check(object)) {
      raise(PyExc_TypeError, "%s must be None or a tuple of two ints; an item is %R (%s)", what,
            object, "not an integer");
    }
    index = check(PyNumber_Index(object));
    object = index.get();
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) return overflow > 0 ? INT64_MAX : INT64_MIN;
  if (value == -1 && PyErr_Occurred() != nullptr) throw ErrorSet{};
  return value;
}

struct Pair {
  std::int64_t first;
  std::int64_t second;
};
Pair to_pair(PyObject* object, const char* what) {
  if (!PyTuple_Check(object) || compat::tuple_size(object) != 2) {
    raise(PyExc_TypeError, "%s must be None or a tuple of two ints, not %R", what, object);
  }
  // Borrowed for the length of the call: the caller holds the tuple, and tuples do not change.
  return {clamped_int(PyTuple_GetItem(object, 0), what),
          clamped_int(PyTuple_GetItem(object, 1), what)};
}

}  // namespace

dlpack::Copy to_copy(PyObject* object) {
  if (object == nullptr || object == Py_None) return dlpack::Copy::kIfNeeded;
  if (object == Py_True) return dlpack::Copy::kAlways;
  if (object == Py_False) return dlpack::Copy::kNever;
  raise(PyExc_TypeError, "copy must be True, False or None, not %R", object);
}

std::optional<std::int64_t> to_stream(PyObject* object) {
  if (object == nullptr || object == Py_None) return std::nullopt;
  if (!PyLong_Check(object) || PyBool_Check(object)) {
    raise(PyExc_TypeError, "stream must be None or an int, not %R", object);
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) raise(PyExc_ValueError, "stream is %R; a stream handle has 64 bits", object);
  return value;
}

VersionRequest to_version_request(const State& state, PyObject* object) {
  if (object == nullptr || object == Py_None) return VersionRequest::kLegacy;
  if (object == state.get(Slot::kOurVersion)) return VersionRequest::kOurs;  // our own from_dlpack asks so
  const Pair asked = to_pair(object, "max_version");
  const std::int64_t major = dlpack::kVersion.major;
  const std::int64_t minor = dlpack::kVersion.minor;
  if (asked.first < 1) return VersionRequest::kLegacy;
  if (asked.first > major || (asked.first == major && asked.second > minor))
    return VersionRequest::kNewer;
  return asked.first == major && asked.second == minor ? VersionRequest::kOurs
                                                       : VersionRequest::kOlderMinor;
}

std::optional<DLDevice> to_dl_device(PyObject* object) {
  if (object == nullptr || object == Py_None) return std::nullopt;
  const Pair asked = to_pair(object, "dl_device");
  for (const std::int64_t value : {asked.first, asked.second}) {
    if (value < INT32_MIN || value > INT32_MAX) {
      raise(PyExc_ValueError, "dl_device is %R; both items must fit in 32 bits", object);
    }
  }
  return DLDevice{static_cast<DLDeviceType>(asked.first), static_cast<std::int32_t>(asked.second)};
}

}  // namespace refarray::python
