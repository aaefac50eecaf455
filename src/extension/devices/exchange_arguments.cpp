// Parsing of DLPack's keyword arguments: stream=, max_version=, dl_device= and copy=.
#include "extension/devices/exchange_arguments.hpp"

#include <compare>

#include "core/error.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/objects/conversions.hpp"

namespace refarray::extension {
namespace {

/// The item of a tuple as an int, by __index__. `from` names the tuple in the error message.
[[gnu::noinline]] Ref to_index(PyObject* object, PyObject* tuple, const char* from) {
  if (!PyIndex_Check(object))
    raise(PyExc_TypeError, "%s must be a tuple of two ints, not %s", from,
          short_repr(tuple).c_str());
  return check(calling<PyNumber_Index>(object));
}
/// As to_index(), clamped to the range of int64.
std::int64_t clamped_int(PyObject* object, PyObject* tuple, const char* from) {
  if (!PyLong_Check(object)) return clamped_int(to_index(object, tuple, from).get(), tuple, from);
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);  // an int: cannot fail
  if (overflow != 0) return overflow > 0 ? INT64_MAX : INT64_MIN;
  return value;
}

struct Pair {
  std::int64_t first;
  std::int64_t second;
  auto operator<=>(const Pair&) const = default;
};
Pair to_pair(PyObject* object, const char* from) {
  if (!PyTuple_Check(object) || compat::tuple_size(object) != 2) {
    raise(PyExc_TypeError, "%s must be a tuple of two ints, not %s", from,
          short_repr(object).c_str());
  }
  // The items are borrowed: the caller holds the tuple, and tuples are immutable.
  return {clamped_int(compat::tuple_item(object, 0), object, from),
          clamped_int(compat::tuple_item(object, 1), object, from)};
}

DLDevice to_device_pair(PyObject* object, const char* from) {
  const Pair asked = to_pair(object, from);
  for (const std::int64_t value : {asked.first, asked.second}) {
    if (value < INT32_MIN || value > INT32_MAX) {
      raise(PyExc_ValueError, "%s is %s; both items must fit in 32 bits", from,
            short_repr(object).c_str());
    }
  }
  return {static_cast<DLDeviceType>(asked.first), static_cast<std::int32_t>(asked.second)};
}

constexpr const char* kStreamMethod = "__cuda_stream__";

/// A stream number: up to 64 bits, or the negative of such a number. `shown` appears in the error
/// message.
runtime::GivenStream stream_number(PyObject* number, PyObject* shown) {
  using Kind = runtime::GivenStream::Kind;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);  // an int: cannot fail
  if (overflow == 0) {
    const auto magnitude = static_cast<std::uint64_t>(value);
    return {Kind::kNumber, value < 0, value < 0 ? std::uint64_t{0} - magnitude : magnitude};
  }
  const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(number) : 0;
  if (overflow < 0 || PyErr_Occurred() != nullptr) {
    compat::clear_raised();
    raise(PyExc_ValueError, "stream is %s; a stream handle has 64 bits", short_repr(shown).c_str());
  }
  return {Kind::kNumber, false, large};
}

/// Calls __cuda_stream__(), which returns (version of the protocol, handle). The version is 0.
runtime::GivenStream stream_of_object(PyObject* object, const Ref& method) {
  const Ref answer = check(calling<PyObject_CallNoArgs>(method.get()));
  const Pair pair = to_pair(answer.get(), "the result of __cuda_stream__()");
  if (pair.first != 0) {
    raise(PyExc_ValueError,
          "__cuda_stream__() of %R returned version %lld; refarray supports version 0",
          reinterpret_cast<PyObject*>(Py_TYPE(object)), static_cast<long long>(pair.first));
  }
  PyObject* handle = compat::tuple_item(answer.get(), 1);
  runtime::GivenStream out =
      PyLong_Check(handle)
          ? stream_number(handle, object)
          : stream_number(to_index(handle, answer.get(), kStreamMethod).get(), object);
  if (out.negative)
    raise(PyExc_ValueError, "the stream of %s is negative", type_name(object).c_str());
  out.kind = runtime::GivenStream::Kind::kObject;
  return out;
}

bool is_pair(PyObject* object) noexcept {
  return PyTuple_CheckExact(object) && compat::tuple_size(object) == 2;
}
/// Whether both tuples hold the same two objects. True for literals such as (1, 3) and (1, 0),
/// because the interpreter has each small int once.
bool has_same_items(PyObject* object, PyObject* ours) noexcept {
  return is_pair(object) && compat::tuple_item(object, 0) == compat::tuple_item(ours, 0) &&
         compat::tuple_item(object, 1) == compat::tuple_item(ours, 1);
}

}  // namespace

dlpack::Copy detail::parse_copy(PyObject* object) {
  if (object == Py_True) return dlpack::Copy::kAlways;
  if (object == Py_False) return dlpack::Copy::kNever;
  raise(PyExc_TypeError, "copy must be True, False or None, not %s", short_repr(object).c_str());
}

runtime::GivenStream detail::parse_stream(PyObject* object) {
  if (PyLong_CheckExact(object)) return stream_number(object, object);
  if (const auto ours = stream_of_ours(object)) return *ours;
  Ref method = Ref::steal(calling<PyObject_GetAttrString>(object, kStreamMethod));
  if (method) return stream_of_object(object, method);
  if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw ErrorSet{};
  compat::clear_raised();
  if (PyBool_Check(object) || PyIndex_Check(object) == 0) {
    raise(PyExc_TypeError, "stream must be None, an int or an object with __cuda_stream__, not %s",
          short_repr(object).c_str());
  }
  return stream_number(check(calling<PyNumber_Index>(object)).get(), object);
}

bool detail::requests_versioned(const State& state, PyObject* object) {
  PyObject* ours = state.get(Slot::kOurVersion);
  const bool same_major = is_pair(object) && PyLong_CheckExact(compat::tuple_item(object, 1)) &&
                          compat::tuple_item(object, 0) == compat::tuple_item(ours, 0);
  return same_major || to_version_request(state, object) != VersionRequest::kLegacy;
}

VersionRequest to_version_request(const State& state, PyObject* object) {
  if (!is_given(object)) return VersionRequest::kLegacy;
  if (has_same_items(object, state.get(Slot::kOurVersion))) return VersionRequest::kOurs;
  const Pair asked = to_pair(object, "max_version");
  constexpr Pair kOurs{dlpack::kVersion.major, dlpack::kVersion.minor};
  if (asked.first < 1) return VersionRequest::kLegacy;
  if (asked > kOurs) return VersionRequest::kNewer;
  return asked == kOurs ? VersionRequest::kOurs : VersionRequest::kOlderMinor;
}

DLDevice detail::parse_dl_device(const State& state, PyObject* object) {
  if (has_same_items(object, state.get(Slot::kCpuPair))) return {kDLCPU, 0};
  const DLDevice device = to_device_pair(object, "dl_device");
  open_device(device);
  return device;
}

/// (kDLCPU, None), which Paddle 3.3.1 announces. The CPU needs no id.
bool is_cpu_without_id(PyObject* answer) {
  if (!PyTuple_Check(answer) || compat::tuple_size(answer) != 2) return false;
  PyObject* const type = compat::tuple_item(answer, 0);
  return compat::tuple_item(answer, 1) == Py_None && PyIndex_Check(type) &&
         clamped_int(type, answer, "the result of __dlpack_device__()") == kDLCPU;
}

DLDevice to_announced_device(const State& state, PyObject* answer) {
  if (has_same_items(answer, state.get(Slot::kCpuPair)) || is_cpu_without_id(answer))
    return {kDLCPU, 0};
  return to_device_pair(answer, "the result of __dlpack_device__()");
}

ImportRequest to_import_request(const State& state, PyObject* device, PyObject* copy,
                                PyObject* max_version) {
  ImportRequest request;
  request.copy = to_copy(copy);
  if (is_given(device)) request.device = to_device_value(state, device);
  if (is_given(max_version)) {
    // A version above ours is lowered to ours, because we have to read the answer.
    const VersionRequest asked = to_version_request(state, max_version);
    const bool ours = asked == VersionRequest::kNewer || asked == VersionRequest::kOurs;
    request.max_version = ours ? state.get(Slot::kOurVersion) : max_version;
  }
  if (request.device && !request.device->is_host()) {
    open_device(*request.device);
    runtime::require(*request.device);
  }
  return request;
}

}  // namespace refarray::extension
