// Implements astype(), copy() and to_device(); and the settings of copies: REFARRAY_ISA and
// REFARRAY_COPY_THREADS, and the module functions.
#include "extension/copy/copy_functions.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/copy/copy.hpp"
#include "core/error.hpp"
#include "core/kernels/table.hpp"
#include "extension/capi/driver_calls.hpp"
#include "extension/capi/lookup.hpp"
#include "extension/capi/methods.hpp"
#include "extension/copy/copying.hpp"
#include "extension/copy/host_computation.hpp"
#include "extension/devices/exchange_arguments.hpp"
#include "extension/objects/array_object.hpp"
#include "extension/objects/conversions.hpp"
#include "extension/objects/function_row.hpp"
#include "runtime/runtime.hpp"

namespace refarray::extension {
namespace {

using core::Fault;

constexpr FunctionRow kAstype{
    "astype",
    "x, dtype, /, *, copy=True, device=None",
    Category::kDataType,
    2021,
    R"doc(Return the elements of x converted to dtype in a new, writable, row-major array.

Conversion to a float rounds once, to nearest, ties to even. Conversion of a
float to an integer truncates toward zero and saturates at the limits of dtype.
Any non-zero value converts to True.

copy: False returns x itself if neither dtype nor device changes.
device: the device of the result. None keeps the device of x, except that
    pinned host memory is copied to the CPU.

Raises TypeError for a conversion from complex to real and for a conversion of
vector elements to another dtype, and BufferError if the memory of x or the
device cannot be used by this build.)doc",
};

constexpr char kCopyFunctionDoc[] = R"doc(copy($module, x, /)
--

Return a new, writable, row-major array with the elements of x.

The copy is on the device of x; pinned host memory is copied to the CPU.

Raises TypeError if x is not an Array, BufferError if its memory cannot be read,
and MemoryError. Extension of the array API; asarray(x, copy=True) is its
standard spelling.)doc";

constexpr char kToDeviceFunctionDoc[] =
    R"doc(to_device($module, x, device, /, *, stream=None)
--

Return the elements of x on device.

If x is already there and no stream is given, the result shares its memory;
otherwise it is a copy.

device: a Device or its name, such as 'cpu' or 'cuda:0'.
stream: the stream that the copy is enqueued on: a handle as DLPack defines it
    for the device, or an object with __cuda_stream__. None uses the current
    stream. Between arrays on the CPU only None is allowed.

Raises BufferError if this build cannot allocate on device, ValueError for an
unknown device name or a stream that the device does not have, and TypeError for
arguments of other types. Array API: to_device.)doc";

constexpr char kAstypeMethodDoc[] = R"doc(astype($self, dtype, /, *, copy=True, device=None)
--

Return the elements converted to dtype in a new, writable, row-major array.

The result is on device; None keeps the array's own, except that pinned host
memory is copied to the CPU. copy=False returns the array itself if neither dtype
nor device changes. Raises TypeError for a conversion from complex to real and for
a conversion of vector elements to another dtype. See refarray.astype for the
rounding rules.)doc";

constexpr char kCopyMethodDoc[] = R"doc(copy($self, /)
--

Return a new, writable, row-major array with the same elements.

The copy is on the same device; pinned host memory is copied to the CPU. Raises
BufferError if the memory cannot be read, and MemoryError.)doc";

/// Takes True and False only: truth testing would accept copy=None and copy="no".
bool to_bool(PyObject* object, const char* what) {
  if (object == Py_True || object == Py_False) return object == Py_True;
  core::fail(Fault::kType, what, " must be True or False, not ",
             object == Py_None ? "None" : type_name(object));
}

/// An independent copy with the same dtype, on the array's own device or on the CPU.
Ref copied(const State& state, const core::ArrayView& array) {
  return make_array(state, copy_to_new(array, array.dtype, default_copy_device(array.device())));
}

Ref astype(const State& state, PyObject* x, PyObject* dtype_argument, PyObject* copy,
           PyObject* device) {
  const core::ArrayView array = view_of(x);
  const core::DType dtype = to_dtype(state, dtype_argument);
  const bool must_copy = copy == nullptr || to_bool(copy, "copy");
  const core::Device target = to_device_or(state, device, array.device());
  require_convertible(array.dtype, dtype);
  if (!must_copy && dtype == array.dtype && target == array.device()) return Ref::borrow(x);
  return make_array(
      state, copy_to_new(array, dtype, is_given(device) ? target : default_copy_device(target)));
}

/// A copy on the caller's stream, which belongs to `stream_device`. The copy waits for unfinished
/// work on the array, not for other work on the device.
core::Array copy_on_stream(const core::ArrayView& array, const core::Device& target,
                           const core::Device& stream_device, const runtime::GivenStream& given) {
  const runtime::StreamChoice choice = runtime::choose_stream(stream_device, given);
  if (choice.kind != runtime::StreamChoice::Kind::kStream)
    core::fail(Fault::kValue, "to_device(): stream must name a stream of ",
               core::name(stream_device));
  open_device(stream_device);
  return copy_to_new_on(array, target, stream_without_gil(stream_device, choice));
}

Ref to_device(const State& state, PyObject* x, PyObject* device, PyObject* stream) {
  const core::ArrayView array = view_of(x);
  const core::Device target = to_device_value(state, device);
  const runtime::GivenStream given = to_stream(stream);
  // The stream belongs to the target, or to the source of a copy to the CPU.
  const core::Device stream_device = target == core::Device{} ? array.device() : target;
  if (stream_device == core::Device{}) {
    runtime::order_cpu(given);
  } else if (given.kind != runtime::GivenStream::Kind::kNone) {
    return make_array(state, copy_on_stream(array, target, stream_device, given));
  }
  if (target == array.device()) return alias_array(state, x);
  return make_array(state, copy_to_new(array, array.dtype, target));
}

constexpr Signature<3> kAstypeMethod{"astype", {Key::kDtype, Key::kCopy, Key::kDevice}, 1, 1, 1};
constexpr Signature<1> kCopyFunction{"copy", {Key::kX}, 1, 1, 1};
constexpr Signature<3> kToDeviceFunction{
    "to_device", {Key::kX, Key::kDevice, Key::kStream}, 2, 2, 2};
constexpr Signature<2> kToDeviceMethod{"to_device", {Key::kDevice, Key::kStream}, 1, 1, 1};

Ref astype_function(const State& state, const Given<kAstype>& given) {
  const auto [x, dtype, copy, device] = given;
  to_view(state, x, kAstype.name);
  return astype(state, x, dtype, copy, device);
}

Ref astype_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_object(self);
  const auto [dtype, copy, device] = bind(kAstypeMethod, state, args, nargs, kwnames);
  if (state.modes.with_devices && is_given(device)) {  // it is known to Python
    const Ref function = python_function("refarray._namespaces.devices", "astype");
    return check(calling<PyObject_CallFunctionObjArgs>(
        function.get(), self, dtype, copy == nullptr ? Py_True : copy, device, nullptr));
  }
  return astype(state, self, dtype, copy, device);
}

Ref copy_function(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x] = bind(kCopyFunction, state, args, nargs, kwnames);
  return copied(state, to_view(state, x, kCopyFunction.function));
}

Ref to_device_function(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                       PyObject* kwnames) {
  const State& state = State::of_module(module);
  const auto [x, device, stream] = bind(kToDeviceFunction, state, args, nargs, kwnames);
  to_view(state, x, kToDeviceFunction.function);
  return to_device(state, x, device, stream);
}

Ref to_device_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const State& state = State::of_object(self);
  const auto [device, stream] = bind(kToDeviceMethod, state, args, nargs, kwnames);
  return to_device(state, self, device, stream);
}

constexpr int kKeywords = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

void require_convertible(const core::DType& from, const core::DType& to) {
  if (core::can_convert(from, to)) return;
  core::fail(Fault::kType, "astype() cannot convert ", core::name(from), " to ", core::name(to),
             from.is_complex() ? ": the imaginary part would be lost"
                               : ": vector elements convert to their own dtype only");
}

Ref copy_method(PyObject* self, PyObject*) { return copied(State::of_object(self), view_of(self)); }

PyMethodDef kCopyFunctions[] = {
    entry<kAstype, &astype_function>(),
    {"copy", method<&copy_function>(), kKeywords, kCopyFunctionDoc},
    {"to_device", method<&to_device_function>(), kKeywords, kToDeviceFunctionDoc},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef kCopyMethods[] = {
    {"astype", method<&astype_method>(), kKeywords, kAstypeMethodDoc},
    {"copy", method<&copy_method>(), METH_NOARGS, kCopyMethodDoc},
    {"to_device", method<&to_device_method>(), kKeywords, kToDeviceMethodDoc},
    {nullptr, nullptr, 0, nullptr},
};

// --- Settings.

namespace {

constexpr char kSetCopyThreadsDoc[] = R"doc(set_copy_threads($module, count, /)
--

Set the number of threads that share each copy or computation of more than 4 MiB.

count: 1 to 256, including the calling thread. The default is the value of
    REFARRAY_COPY_THREADS, or 1.

The setting applies to the whole process; a call in progress keeps its threads.
Helper threads start with a call and end with it, so that fork() is safe at any
time. Raises ValueError for a count out of range.)doc";

constexpr char kGetCopyThreadsDoc[] = R"doc(get_copy_threads($module, /)
--

Return the number of threads that share each copy or computation of more than 4 MiB.

See set_copy_threads.)doc";

constexpr char kSetHostComputationDoc[] = R"doc(set_host_computation($module, enabled, /)
--

Set whether functions compute on the host for arrays on devices.

enabled: a bool. If False, functions without kernels for a device raise
    NotImplementedError. The default is True, or False with
    REFARRAY_HOST_COMPUTATION=0.

The setting applies to the whole process.)doc";

constexpr char kGetHostComputationDoc[] = R"doc(get_host_computation($module, /)
--

Return whether functions compute on the host for arrays on devices.

See set_host_computation.)doc";

constexpr char kUseIsaDoc[] = R"doc(_use_isa($module, name, /)
--

Use the copy kernels of an instruction set in the whole process.

name: an entry of _build_info()['isas']. Raises ValueError for any other name.)doc";

constexpr std::int64_t kMaxThreads = 256;
constexpr const char* kIsaVariable = "REFARRAY_ISA";
constexpr const char* kThreadsVariable = "REFARRAY_COPY_THREADS";
constexpr const char* kHostVariable = "REFARRAY_HOST_COMPUTATION";

std::string isa_names() {
  const core::kernels::Choices all = core::kernels::choices();
  std::string out;
  for (int i = 0; i < all.count; ++i) {
    if (i > 0) out += ", ";
    out += all.tables[i]->name;
  }
  return out;
}

/// `source` names the argument or environment variable in the message.
void use_isa(const char* name, const char* source) {
  if (core::kernels::use(name)) return;
  core::fail(Fault::kValue, source, " is '", name, "'; this processor supports ", isa_names());
}

void use_threads(std::int64_t count, const char* source) {
  if (count < 1 || count > kMaxThreads)
    core::fail(Fault::kValue, source, " is ", count, "; the range is 1 to ", kMaxThreads);
  core::set_copy_threads(static_cast<int>(count));
}

Ref set_copy_threads(PyObject*, PyObject* count) {
  use_threads(to_int64(count, "count"), "count");
  return Ref::borrow(Py_None);
}

Ref get_copy_threads(PyObject*, PyObject*) { return check(PyLong_FromLong(core::copy_threads())); }

Ref set_host_computation_function(PyObject*, PyObject* enabled) {
  if (!PyBool_Check(enabled))
    core::fail(Fault::kType, "enabled must be a bool, not ", type_name(enabled));
  set_host_computation(enabled == Py_True);
  return Ref::borrow(Py_None);
}

Ref get_host_computation(PyObject*, PyObject*) {
  return check(PyBool_FromLong(host_computation()));
}

Ref use_isa_function(PyObject*, PyObject* name) {
  if (!PyUnicode_Check(name)) core::fail(Fault::kType, "name must be a str, not ", type_name(name));
  use_isa(std::string(utf8(name)).c_str(), "name");
  return Ref::borrow(Py_None);
}

}  // namespace

void read_copy_settings() {
  const char* const isa = std::getenv(kIsaVariable);
  if (isa != nullptr && *isa != '\0') use_isa(isa, kIsaVariable);
  const char* const host = std::getenv(kHostVariable);
  if (host != nullptr && *host != '\0') {
    const std::string_view text = host;
    if (text != "0" && text != "1")
      core::fail(Fault::kValue, kHostVariable, " is '", host, "'; it must be 0 or 1");
    set_host_computation(text == "1");
  }
  const char* const threads = std::getenv(kThreadsVariable);
  if (threads == nullptr || *threads == '\0') return;
  char* end = nullptr;
  const std::int64_t count = std::strtoll(threads, &end, 10);
  use_threads(*end == '\0' ? count : 0, kThreadsVariable);
}

PyMethodDef kCopySettingFunctions[] = {
    {"set_copy_threads", method<&set_copy_threads>(), METH_O, kSetCopyThreadsDoc},
    {"get_copy_threads", method<&get_copy_threads>(), METH_NOARGS, kGetCopyThreadsDoc},
    {"set_host_computation", method<&set_host_computation_function>(), METH_O,
     kSetHostComputationDoc},
    {"get_host_computation", method<&get_host_computation>(), METH_NOARGS, kGetHostComputationDoc},
    {"_use_isa", method<&use_isa_function>(), METH_O, kUseIsaDoc},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace refarray::extension
